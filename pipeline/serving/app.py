"""`nmt serve`'s application: LibreTranslate's routes, those of the page, and health."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from .batches import Batches
from .engines import Engine
from .requests import CLIENT_LEFT, Q, Question, TranslationRequest, parsed, read
from .service import Options, Service

PAGE = Path(__file__).parent / "page"
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
HEADERS = [  # of every answer, which the server adds
    ("Cache-Control", "no-cache"),  # a browser keeps the page and asks whether it is still the same
    ("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
]


def create(engines: Sequence[Engine], options: Options) -> Starlette:
    """The application that serves these systems; what costs something wants a key if there are keys."""
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
            check_key(request, options)  # before the body, which costs something
            body = await read(request, options.characters)
            question = await asyncio.to_thread(parsed, request, body, kind, options.characters)
            check_key(request, options, question.api_key)
            return JSONResponse(await unless_left(request, answer(question)))

        return Route(path, endpoint, methods=["POST"])

    def read_only(path: str, answer: Callable[..., Any]) -> Route:
        async def endpoint(request: Request) -> Response:
            return JSONResponse(answer(**request.path_params))

        return Route(path, endpoint)

    routes = [
        posted("/translate", TranslationRequest, service.translate),
        posted("/attention", Question, service.attention),
        posted("/detect", Question, service.detect),
        read_only("/languages", service.languages),
        read_only("/systems", service.systems),
        read_only("/card/{system}", service.card),
        read_only("/health", lambda: {"status": "ok"}),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    # A page elsewhere whose name suddenly resolves to 127.0.0.1 (DNS rebinding) has another host.
    hosts = ["*"] if options.keys else [*LOOPBACK, options.host]
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    refusals = {HTTPException: refusal}
    return Starlette(routes=routes, middleware=[trusted], exception_handlers=refusals, lifespan=lifespan)


def check_origin(request: Request) -> None:
    """Check that no web page but our own asks in the name of whoever looks at it; add-ons of browsers may.

    Raises: HTTPException (403).
    """
    origin = request.headers.get("origin", "")
    if origin == "null" or (origin.startswith("http") and urlsplit(origin).netloc != request.headers.get("host")):
        raise HTTPException(403, f"origin: is another page, got {origin[:100]!r}; expected this server's own page")


def check_key(request: Request, options: Options, in_body: str | None = None) -> None:
    """Check the key of the header Authorization, else that of a body, in a time that says nothing of the right ones.

    Raises: HTTPException (403).
    """
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    given = key if scheme.lower() == "bearer" else in_body
    if not options.keys or given is None:
        return
    if not sum(secrets.compare_digest(given.encode(), key.encode()) for key in options.keys):
        what = "is not valid" if given else "is missing"
        raise HTTPException(403, f"api_key: {what}; expected the key that this server's operator gave out")


async def unless_left(request: Request, work: Awaitable[Any]) -> Any:
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
