"""The access log: one short line a request, without text unless asked."""

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.serving.metrics import Metrics
from pipeline.terminal import one_line

log = logging.getLogger(__name__)
TEXT_CHARACTERS = 2_000


class Journal:
    """Logs and counts every request."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, with_text: bool) -> None:
        self.app, self.metrics, self.with_text = app, metrics, with_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
            await send(message)

        scope.setdefault("state", {})
        try:
            await self.app(scope, receive, send_noted)
        finally:
            seconds = time.perf_counter() - began
            self.metrics.request(route(scope), status, seconds)
            log.info("%s", self.line(scope, status, seconds))

    def line(self, scope: Scope, status: int, seconds: float) -> str:
        """The line of a request: client, method, path, status, time, and how much text."""
        client = scope["client"][0] if scope.get("client") else "-"
        path = one_line(scope["path"], 100)
        said = f"{client} {scope['method']} {path} {status} {1000 * seconds:.0f} ms"
        if noted := scope["state"].get("noted"):
            sources, translations = noted
            said += f" {sum(map(len, sources))} characters"
            if self.with_text:
                said += (
                    f" {one_line(repr(sources), TEXT_CHARACTERS)} -> {one_line(repr(translations), TEXT_CHARACTERS)}"
                )
        return said


def route(scope: Scope) -> str:
    """The path of the route that answered; the client's own path would be a label without bounds."""
    return str(getattr(scope.get("route"), "path", "") or "other")
