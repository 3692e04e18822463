"""A web server on loopback: whole files or the rest of one, cut short, or an error."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """What is served by path, how the next requests misbehave ("cut" half-way, a status, or "fine"), what was asked."""

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
        request.send_error(fault if isinstance(fault, int) else 404)
        return
    same = request.headers.get("If-Range") == server.headers.get("ETag")
    start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and same else 0
    if start and start >= len(body):
        request.send_error(416)
        return
    request.send_response(206 if start else 200)
    for name, value in server.headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(body) - start))
    request.end_headers()
    request.wfile.write(body[start : start + (len(body) - start) // 2] if fault == "cut" else body[start:])
