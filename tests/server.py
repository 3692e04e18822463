"""A web server on loopback: whole files or the rest of one, cut short, or an error."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """What is served by path, how the next answers misbehave, what was asked.

    An answer is "fine", "cut" half-way, the "rest" of any version, or a status.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[int | str] = []
        self.asked: list[tuple[str, str | None]] = []  # path, Range
        self.headers = {"ETag": '"one"'}
        self.address = ""


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs until the block ends."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            answer(self, server)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    http.shutdown()
    http.server_close()
    thread.join()


def answer(request: BaseHTTPRequestHandler, server: Server) -> None:
    """Answer one request."""
    body, asked = server.files.get(request.path), request.headers.get("Range")
    server.asked.append((request.path, asked))
    fault = server.faults.pop(0) if server.faults else "fine"
    if body is None or isinstance(fault, int):
        request.send_response(fault if isinstance(fault, int) else 404)
        for name, value in server.headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    same = request.headers.get("If-Range") == server.headers.get("ETag") or fault == "rest"
    start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and same else 0
    if start and start >= len(body):
        request.send_error(416)
        return
    request.send_response(206 if start else 200)
    usual = {"Content-Length": len(body) - start}
    usual |= {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
    for name, value in (usual | server.headers).items():
        request.send_header(name, str(value))
    request.end_headers()
    request.wfile.write(body[start : start + (len(body) - start) // 2] if fault == "cut" else body[start:])
