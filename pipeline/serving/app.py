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
R = TypeVar("R")
K = TypeVar("K", bound=Keyed)


def create(engines: Sequence[Engine], options: Options) -> FastAPI:
    """The application that serves these systems."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        batches = Batches(WAITING_SENTENCES, metrics.batch)
        metrics.watch(lambda: batches.waiting)
        app.state.service = Service(engines, batches, options)
        running = asyncio.create_task(batches.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, metrics, options)
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


def add_routes(app: FastAPI, metrics: Metrics, options: Options) -> None:
    """The routes: those that cost something, or tell how much a server is used, want a key if there are keys."""

    @app.post("/translate")
    async def translate(request: Request) -> Response:
        asked = await admitted(request, TranslationRequest, options)
        return JSONResponse(await unless_left(request, service(request).translate(asked)))

    @app.post("/attention")
    async def attention(request: Request) -> Response:
        asked = await admitted(request, AttentionRequest, options)
        return JSONResponse(await unless_left(request, service(request).attention(asked)))

    @app.get("/languages")
    async def languages(request: Request) -> Response:
        return JSONResponse(service(request).languages())

    @app.get("/systems")
    async def systems(request: Request) -> Response:
        every = [about(engine) for engine in service(request).engines]
        return JSONResponse({"systems": every, "characters": options.characters, "keys": bool(options.keys)})

    @app.get("/card/{system}")
    async def card(request: Request, system: str) -> Response:
        return JSONResponse({"html": card_html(service(request).named(system).card)})

    @app.get("/health")
    async def health() -> Response:
        return JSONResponse({"status": "ok"})

    @app.get("/metrics")
    async def show_metrics(request: Request) -> Response:
        check_key(bearer(request), options)
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def service(request: Request) -> Service:
    """The service that the application holds."""
    found: Service = request.app.state.service
    return found


def about(engine: Engine) -> dict[str, object]:
    """What the page shows of a system."""
    config = engine.config
    names = ("system", "corpus", "vocabulary", "model", "size", "source_language", "target_language")
    return {**{name: getattr(config, name) for name in names}, "engine": engine.kind, "score": engine.score}


async def admitted(request: Request, kind: type[K], options: Options) -> K:
    """The body of a request that may be answered.

    Raises: HTTPException (400, 403, 413).
    """
    found = await read(request, kind, options.characters)
    check_key(found.api_key or bearer(request), options)
    return found


def bearer(request: Request) -> str:
    """The key in the header Authorization."""
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def check_key(given: str, options: Options) -> None:
    """Check a key, in a time that says nothing of the right ones.

    Raises: HTTPException (403).
    """
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
