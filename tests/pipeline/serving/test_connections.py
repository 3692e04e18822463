"""Connections of `nmt serve` whose clients say nothing, or leave."""

import logging
import socket
import threading
import time
from contextlib import suppress

import pytest
import requests
import uvicorn

from pipeline.serving import app, connections
from pipeline.serving.service import Options
from tests.toys.engines import ENGINES

CUT = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(connections, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(connections, "MOST", 5)
    config = uvicorn.Config(app.create(ENGINES, Options()), port=0, http=connections.Connection, log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def test_silent_clients_keep_nobody_out(port):
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(9)]
    time.sleep(0.6)
    assert requests.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code == 200
    for connection in silent:
        connection.settimeout(5)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        connection.close()


def test_a_client_that_leaves_is_no_traceback(port, caplog):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(CUT)
    time.sleep(0.2)
    assert requests.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
