"""Runs the application until SIGTERM or Ctrl-C: it stops accepting, finishes what is under way, and ends."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.serving import app
from pipeline.serving.service import Service
from pipeline.serving.workers import StartError

BACKLOG = 1024
IDLE_SECONDS = 30  # that a connection is kept without a whole head of a request, or with an answer that nobody takes
log = logging.getLogger(__name__)


class ServeError(ValueError):
    """The server cannot start."""


class Protocol(H11Protocol):
    """uvicorn's, which also closes a connection that never sends a request, or sends its head byte by byte."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request, too."""
        super().connection_made(cast(asyncio.Transport, transport))
        self.close_at(self.loop.time() + self.timeout_keep_alive)

    def data_received(self, data: bytes) -> None:
        """Take what came; it puts off the end only if it makes a head whole."""
        end = self.timeout_keep_alive_task and self.timeout_keep_alive_task.when()
        super().data_received(data)
        is_waiting = self.cycle is None or self.cycle.response_complete
        if end and is_waiting and self.timeout_keep_alive_task is None:
            self.close_at(end)

    def close_at(self, time: float) -> None:
        """Close the connection at a time of the loop, unless a request comes."""
        self.timeout_keep_alive_task = self.loop.call_at(time, self.timeout_keep_alive_handler)


class Server(uvicorn.Server):
    """uvicorn's, which ends with status 0 after a signal; uvicorn itself would send the signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Have the signals end the server while the block runs."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(options: app.Options) -> None:
    """Serve until a signal.

    Raises: ServeError if the address is not free. StartError if the models cannot be loaded.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    listening = listen(options.host, options.port)
    address = f"http://{url_host(options.host)}:{listening.getsockname()[1]}"
    failed: list[StartError] = []

    def loaded(error: StartError | None, service: Service) -> None:
        if error is not None:
            failed.append(error)
            server.should_exit = True
            return
        log.info("%s: ready, %d systems, workers %d", address, len(service.systems.all), options.workers)

    log.info("%s: loads %d systems (%s)", address, len(options.folders), options.engine)
    config = uvicorn.Config(
        app.create(options, loaded),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        http=Protocol,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=int(options.limits.timeout_seconds) + 1,
        proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,  # uvicorn's variable: the proxies that are believed
    )
    server = Server(config)
    server.run(sockets=[listening])
    if failed:
        raise failed[0]
    log.info("%s: ended", address)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises: ServeError.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: no host can have such a name
        raise ServeError(
            f"--host, --port: cannot listen on {host}:{port}, got {error}; expected a free address of this machine"
        ) from None
    # asyncio does so only where the protocol was named; without it an answer waits 40 ms for the client's delayed ACK
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # which connections inherit
    if user_timeout := getattr(socket, "TCP_USER_TIMEOUT", None):  # Linux, which then ends such a connection itself
        found.setsockopt(socket.IPPROTO_TCP, user_timeout, 1000 * IDLE_SECONDS)
    found.setblocking(False)
    return found


def url_host(host: str) -> str:
    """A host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
