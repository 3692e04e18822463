"""Connections of a server: only so many, and none that ask for nothing."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 500  # connections at once
SILENT_SECONDS = 10  # until the head of a request is complete


class Connection(H11Protocol):
    """A connection that is closed if it is one too many, or if its client is silent."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        self.loop.call_later(SILENT_SECONDS, self.close_if_silent)

    def close_if_silent(self) -> None:
        """Close the connection unless it has asked for anything."""
        if self.cycle is None:
            self.transport.close()
