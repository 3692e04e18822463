"""`nmt serve`'s application: LibreTranslate's routes, those of the page, health and metrics."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .batches import Batches, BusyError, EngineError
from .cards import card_html
from .engines import Engine
from .metrics import Metrics
from .requests import AttentionRequest, Keyed, TranslationRequest, read
from .service import Options, Service

PAGE = Path(__file__).parent / "page"
WAITING_SENTENCES = 10_000
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
CLIENT_LEFT, LOOK_SECONDS = 499, 0.5  # the status as nginx logs it; between two looks whether a client is still there
HEADERS = {
    "Cache-Control": "no-cache",  # a browser keeps the page and asks whether it is still the same
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
SHOWN = ("system", "corpus", "vocabulary", "model", "size", "source_language", "target_language")  # on the page
R = TypeVar("R")
K = TypeVar("K", bound=Keyed)


def create(engines: Sequence[Engine], options: Options) -> FastAPI:
    """The application that serves these systems."""
    metrics = Metrics()
    batches = Batches(WAITING_SENTENCES, metrics.batch)
    metrics.waiting.set_function(lambda: batches.waiting)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        running = asyncio.create_task(batches.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, Service(engines, batches, options), metrics, options)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    app.add_exception_handler(AnyHTTPException, refuse)
    app.add_exception_handler(BusyError, lambda _, error: refusal(503, f"server: busy, {error}; try again", 2))
    app.add_exception_handler(EngineError, lambda _, error: refusal(500, str(error)))

    app.add_middleware(Answers, metrics=metrics)
    if not options.keys:  # a page elsewhere whose name suddenly resolves to 127.0.0.1 (DNS rebinding) has another one
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, options.host], www_redirect=False)
    return app


class Answers:
    """Adds the headers to every answer, and counts it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()

        async def send_answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
                self.metrics.request(message["status"], time.monotonic() - began)
            await send(message)

        await self.app(scope, receive, send_answer)


def add_routes(app: FastAPI, service: Service, metrics: Metrics, options: Options) -> None:
    """The routes: those that cost something, or tell how much a server is used, want a key if there are keys."""

    @app.post("/translate")
    async def translate(request: Request) -> Response:
        asked = await admitted(request, TranslationRequest, options)
        return JSONResponse(await unless_left(request, service.translate(asked)))

    @app.post("/attention")
    async def attention(request: Request) -> Response:
        asked = await admitted(request, AttentionRequest, options)
        return JSONResponse(await unless_left(request, service.attention(asked)))

    @app.get("/languages")
    async def languages() -> Response:
        return JSONResponse(service.languages())

    @app.get("/systems")
    async def systems() -> Response:
        every = [
            {name: getattr(engine.config, name) for name in SHOWN} | {"engine": engine.kind, "score": engine.score}
            for engine in service.engines
        ]
        return JSONResponse({"systems": every, "characters": options.characters, "keys": bool(options.keys)})

    @app.get("/card/{system}")
    async def card(system: str) -> Response:
        return JSONResponse({"html": card_html(service.named(system).card)})

    @app.get("/health")
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @app.get("/metrics")
    async def show_metrics(request: Request) -> Response:
        check_key(request, options)
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def admitted(request: Request, kind: type[K], options: Options) -> K:
    """The body of a request that may be answered.

    Raises: HTTPException (400, 403, 413).
    """
    body = await read(request, kind, options.characters)
    check_key(request, options, body.api_key)
    return body


def check_key(request: Request, options: Options, given: str = "") -> None:
    """Check the key of a body or of the header Authorization, in a time that says nothing of the right ones.

    Raises: HTTPException (403).
    """
    given = given or request.headers.get("authorization", "").removeprefix("Bearer ")
    if options.keys and not sum(secrets.compare_digest(given.encode(), key.encode()) for key in options.keys):
        what = "is not valid" if given else "is missing"
        raise HTTPException(403, f"api_key: {what}; expected the key that this server's operator gave out")


async def unless_left(request: Request, work: Awaitable[R]) -> R:
    """The result of `work`, which is cancelled when the client leaves.

    Raises: HTTPException (499), which nobody reads.
    """
    task = asyncio.ensure_future(work)
    while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
        if await request.is_disconnected():
            task.cancel()
            raise HTTPException(CLIENT_LEFT, "client: left before the answer")
    return task.result()


def refuse(_: Request, error: Exception) -> Response:
    """The answer to a request that is refused."""
    assert isinstance(error, AnyHTTPException)
    return refusal(error.status_code, str(error.detail))


def refusal(status: int, message: str, retry_seconds: int = 0) -> Response:
    """A refusal as LibreTranslate says it."""
    headers = {"Retry-After": str(retry_seconds)} if retry_seconds else None
    return JSONResponse({"error": message}, status, headers)
