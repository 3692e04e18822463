"""A hub on loopback: what fetching a data set takes of the API of huggingface.co."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit

COMMIT = "c" * 40
FILES: dict[str, bytes] = {}  # of the data set toy/pairs
ASKED: list[str] = []


class Hub(BaseHTTPRequestHandler):
    """Answers for the data set toy/pairs."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        ASKED.append(f"{self.command} {path}")
        api, _, rest = path.removeprefix("/api/datasets/toy/pairs").strip("/").partition("/")
        if path.startswith("/datasets/toy/pairs/resolve/"):
            self.send(FILES.get(path.split("/", 6)[6]))
        elif api in ("", "revision"):
            self.send(json.dumps({"id": "toy/pairs", "sha": COMMIT, "siblings": [], "tags": []}).encode())
        elif api == "tree":
            below = rest.partition("/")[2]
            self.send(json.dumps([entry(name) for name in FILES if name.startswith(below)]).encode())
        elif api == "paths-info":
            names = json.loads(body)["paths"] if body.startswith(b"{") else []
            self.send(json.dumps([entry(name) for name in names if name in FILES]).encode())
        else:
            self.send(None)

    do_HEAD = do_POST = do_GET

    def send(self, content: bytes | None) -> None:
        """Answer with these bytes, or as the hub does where there is no such file."""
        self.send_response(404 if content is None else 200)
        if content is None:
            self.send_header("X-Error-Code", "EntryNotFound")
        else:
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content or b"")


def entry(name: str) -> dict[str, object]:
    """What the hub says of a file."""
    return {"type": "file", "path": name, "size": len(FILES[name]), "oid": hashlib.sha1(FILES[name]).hexdigest()}
