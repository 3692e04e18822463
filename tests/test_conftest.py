"""The fixture that keeps every test off the network does."""

import socket
import tempfile
import threading

import pytest


def test_connection_to_another_machine_is_refused():
    with (
        socket.socket() as here,
        pytest.raises(RuntimeError, match=r"tests have no network, got a connection to 192\.0\.2\.1"),
    ):
        here.connect(("192.0.2.1", 80))


def test_name_of_another_machine_is_not_looked_up():
    with pytest.raises(RuntimeError, match=r"tests have no network, got a connection to example\.org"):
        socket.create_connection(("example.org", 80))


def test_loopback_and_unix_sockets_connect():
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = threading.Thread(target=lambda: server.accept()[0].close())
        listener.start()
        socket.create_connection(("localhost", server.getsockname()[1])).close()
        listener.join()
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,  # the path of a socket has at most 103 bytes
        socket.socket(socket.AF_UNIX) as server,
        socket.socket(socket.AF_UNIX) as client,
    ):
        server.bind(f"{folder}/socket")
        server.listen()
        client.connect(f"{folder}/socket")
