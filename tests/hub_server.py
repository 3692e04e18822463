"""A hub on loopback: what fetching a data set takes of the API of huggingface.co; it lies where it is told to."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

COMMIT = "c" * 40


class HubServer:
    """The files of the data set toy/pairs, by path; `etag` and `commit`, where set, are given for every file."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.etag: str | None = None
        self.commit = COMMIT
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()  # that came with what was asked
        self.address = ""


@contextmanager
def serving_hub() -> Iterator[HubServer]:
    """A hub that runs until the block ends."""
    hub = HubServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            answer(self, hub)

        do_GET = do_POST = do_HEAD

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def answer(request: BaseHTTPRequestHandler, hub: HubServer) -> None:
    """Answer one request."""
    path = unquote(urlsplit(request.path).path)
    body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
    hub.asked.append(f"{request.command} {path}")
    hub.tokens.add(request.headers.get("Authorization"))
    api, resolve = "/api/datasets/toy/pairs", "/datasets/toy/pairs/resolve/"
    if path.startswith(resolve):
        name = path.removeprefix(resolve).partition("/")[2]
        send_file(request, hub, hub.files.get(name))
    elif path == api or path.startswith(f"{api}/revision/"):
        siblings = [{"rfilename": name} for name in hub.files]
        send_json(request, {"id": "toy/pairs", "sha": hub.commit, "private": False, "siblings": siblings, "tags": []})
    elif path.startswith(f"{api}/tree/"):
        below = path.removeprefix(f"{api}/tree/").partition("/")[2]
        names = [name for name in hub.files if name.startswith(f"{below}/" if below else "")]
        folders = {str(folder) for name in names for folder in PurePosixPath(name).parents if str(folder) > below}
        listed = [{"type": "directory", "path": folder, "oid": "0" * 40} for folder in sorted(folders - {"."})]
        send_json(request, listed + [about(hub, name) for name in names])
    elif path.startswith(f"{api}/paths-info/"):
        wanted = json.loads(body)["paths"] if body.startswith(b"{") else []
        send_json(request, [about(hub, name) for name in wanted if name in hub.files])
    else:
        send_file(request, hub, None)


def about(hub: HubServer, name: str) -> dict[str, object]:
    """What the hub says of a file."""
    content = hub.files[name]
    return {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


def send_json(request: BaseHTTPRequestHandler, value: object) -> None:
    """Answer with JSON."""
    body = json.dumps(value).encode()
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def send_file(request: BaseHTTPRequestHandler, hub: HubServer, content: bytes | None) -> None:
    """Answer with a file of the data set, or as the hub does where there is none."""
    request.send_response(404 if content is None else 200)
    if content is None:
        request.send_header("X-Error-Code", "EntryNotFound")
    else:
        request.send_header("ETag", hub.etag or f'"{hashlib.sha1(content).hexdigest()}"')
    request.send_header("X-Repo-Commit", hub.commit)
    request.send_header("Content-Length", str(len(content or b"")))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content or b"")
