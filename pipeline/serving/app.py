"""`nmt serve`'s application: LibreTranslate's routes, those of the page, health and metrics."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .batches import Batches
from .engines import Engine
from .requests import CLIENT_LEFT, Keyed, Question, TranslationRequest, check_length, parsed, read
from .service import Options, Service

PAGE = Path(__file__).parent / "page"
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
HEADERS = {
    "Cache-Control": "no-cache",  # a browser keeps the page and asks whether it is still the same
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
ANSWERED = Counter("nmt_requests", "Requests answered.", ["status"])
ANSWER_SECONDS = Histogram("nmt_request_seconds", "Time to an answer.")
R = TypeVar("R")
Q = TypeVar("Q", bound=Question)


def create(engines: Sequence[Engine], options: Options) -> Starlette:
    """The application that serves these systems.

    What costs something, or tells how much a server is used, wants a key if there are keys.
    """
    batches = Batches()
    service = Service(engines, batches, options)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        running = asyncio.create_task(batches.run())
        yield
        running.cancel()

    def posted(path: str, kind: type[Q], answer: Callable[[Q], Awaitable[Any]]) -> Route:
        async def endpoint(request: Request) -> Response:
            if not options.keys:
                check_origin(request)
            if bearer := bearer_key(request):  # before the body, which costs something
                check_key(options, bearer)
            body = await read(request, options.characters)
            if options.keys and not bearer:
                check_key(options, parsed(request, body, Keyed).api_key)
            question = parsed(request, body, kind)
            check_length(question, options.characters)
            return JSONResponse(await unless_left(request, answer(question)))

        return Route(path, endpoint, methods=["POST"])

    def read_only(path: str, answer: Callable[..., Any]) -> Route:
        async def endpoint(request: Request) -> Response:
            return JSONResponse(answer(**request.path_params))

        return Route(path, endpoint)

    async def metrics(request: Request) -> Response:
        check_key(options, bearer_key(request))
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    routes = [
        posted("/translate", TranslationRequest, service.translate),
        posted("/attention", Question, service.attention),
        posted("/detect", Question, service.detect),
        read_only("/languages", service.languages),
        read_only("/systems", service.systems),
        read_only("/card/{system}", service.card),
        read_only("/health", lambda: {"status": "ok"}),
        Route("/metrics", metrics),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    # A page elsewhere whose name suddenly resolves to 127.0.0.1 (DNS rebinding) has another host.
    hosts = ["*"] if options.keys else [*LOOPBACK, options.host]
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    refusals = {HTTPException: refusal}
    return Starlette(
        routes=routes, middleware=[Middleware(answering), trusted], exception_handlers=refusals, lifespan=lifespan
    )


def answering(app: ASGIApp) -> ASGIApp:
    """An application whose answers have the headers and are counted."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()

        async def send_answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
                ANSWERED.labels(str(message["status"])).inc()
                ANSWER_SECONDS.observe(time.monotonic() - began)
            await send(message)

        await app(scope, receive, send_answer)

    return call


def check_origin(request: Request) -> None:
    """Check that no web page but our own asks in the name of whoever looks at it; add-ons of browsers may.

    Raises: HTTPException (403).
    """
    origin = request.headers.get("origin", "")
    if origin == "null" or (origin.startswith("http") and urlsplit(origin).netloc != request.headers.get("host")):
        raise HTTPException(403, f"origin: is another page, got {origin[:100]!r}; expected this server's own page")


def bearer_key(request: Request) -> str:
    """The key in the header Authorization."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" else ""


def check_key(options: Options, given: str) -> None:
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
    task, left = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())  # the body is read already
    await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    if not task.done():
        task.cancel()
        raise HTTPException(CLIENT_LEFT, "client: left before the answer")
    return task.result()


def refusal(_: Request, error: Exception) -> Response:
    """A refusal as LibreTranslate says it."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
