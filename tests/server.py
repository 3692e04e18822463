"""A web server on loopback that answers as it is told: whole, in ranges, cut short, late or with an error."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """What is served, how the next requests misbehave, and what was asked.

    `faults` is used up one a request: an int is a status, "cut" closes half-way, "stall" sends half and waits,
    "short" announces and sends half of it, "chunk" sends neither a length nor the end, "fine" does nothing. `answers`
    holds for as long as it stands there: a path's function answers by itself, given the request and the body.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[int | str] = []
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler, bytes], None]] = {}
        self.asked: list[tuple[str, str | None]] = []  # path, Range
        self.ranges = self.if_range = True  # whether they are understood
        self.validator: dict[str, str] = {"ETag": '"one"'}
        self.over = threading.Event()
        self.address = ""


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs until the block ends."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            with contextlib.suppress(ConnectionError, TimeoutError):
                answer(self, server)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.over = server.over  # type: ignore[attr-defined]  # for answers that never end
    server.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        http.shutdown()
        http.server_close()
        thread.join()


def answer(request: BaseHTTPRequestHandler, server: Server) -> None:
    """Answer one request."""
    asked = request.headers.get("Range")
    server.asked.append((request.path, asked))
    fault = server.faults.pop(0) if server.faults else "fine"
    body = server.files.get(request.path)
    if own := server.answers.get(request.path):
        own(request, body or b"")
        return
    if isinstance(fault, int) or body is None:
        request.send_error(fault if isinstance(fault, int) else 404)
        return
    validator = next(iter(server.validator.values()), None)
    start = 0
    same = not server.if_range or request.headers.get("If-Range", validator) == validator
    if asked and server.ranges and same:
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            request.send_error(416)
            return
    request.send_response(206 if start else 200)
    if start:
        request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
    for name, value in server.validator.items():
        request.send_header(name, value)
    half = start + (len(body) - start) // 2
    if fault == "chunk":
        request.send_header("Transfer-Encoding", "chunked")
    else:
        request.send_header("Content-Length", str((half if fault == "short" else len(body)) - start))
    request.end_headers()
    if fault == "chunk":
        request.wfile.write(b"%x\r\n" % len(body) + body[: len(body) // 2])
        return
    request.wfile.write(body[start : half if fault in ("cut", "short", "stall") else len(body)])
    if fault == "stall":
        request.wfile.flush()
        server.over.wait(20)
