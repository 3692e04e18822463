"""Which answers are those of a server that may keep runs, and what is said of the others."""

import errno
import socket
import threading
import time

import pytest

from pipeline.tracking import server as tracking_server
from tests.server import Server, serving


def failure(uri: str) -> str:
    with pytest.raises(ConnectionError) as raised:
        tracking_server.probe(uri)
    return str(raised.value)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_answer_will_do(status: int) -> None:
    with serving() as server:
        server.files = {"/health": b"OK", "/below/health": b"OK"}
        tracking_server.probe(server.address)
        tracking_server.probe(f"{server.address}/below/")
        server.faults = [status]
        tracking_server.probe(server.address.replace("//", "//name:secret@"))
        assert [path for path, _ in server.asked] == ["/health", "/below/health", "/health"]


@pytest.mark.parametrize(("status", "words"), [(429, "Too Many Requests"), (500, "Internal Server Error")])
def test_a_busy_or_broken_server_is_named(status: int, words: str) -> None:
    with serving() as server:
        server.faults = [status]
        said = failure(server.address.replace("//", "//name:secret@"))
        assert said == f"{server.address}: {status} {words}; a tracking server was expected"


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking_server, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        began = time.monotonic()
        assert failure(uri) == f"{uri}: timed out; a tracking server was expected"
        assert time.monotonic() - began < 30
    assert failure(uri) == f"{uri}: [Errno {errno.ECONNREFUSED}] Connection refused; a tracking server was expected"


def test_a_server_that_speaks_otherwise() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].sendall(b"220 ready\r\n"), daemon=True).start()
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert failure(uri) == f"{uri}: 220 ready; a tracking server was expected"
    with serving() as server:
        tracking_server.probe(server.address.replace("http:", "https:"))  # no TLS: MLflow will say what it thinks of it
        assert server.asked == []


@pytest.mark.parametrize("uri", ["sqlite:///mlflow.db", "./mlruns", "databricks", "postgresql://127.0.0.1:1/x"])
def test_other_addresses_pass(uri: str) -> None:
    tracking_server.probe(uri)


def test_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        assert isinstance(server, Server)
        server.files = {"/health": b"x" * 10_000_000}
        server.faults = ["stall"]
        began = time.monotonic()
        tracking_server.probe(server.address)
        server.over.set()
        assert time.monotonic() - began < 3
