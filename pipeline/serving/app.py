"""The application: all routes, what guards them, and the workers behind them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from pipeline.files import DataError
from pipeline.serving import deepl, errors, inspection, libretranslate, operations, worker
from pipeline.serving.documents import Splitting
from pipeline.serving.errors import ServingError
from pipeline.serving.journal import Journal
from pipeline.serving.limits import Limits
from pipeline.serving.metrics import Metrics
from pipeline.serving.page import Page
from pipeline.serving.security import Guard, Keys
from pipeline.serving.sentence_queue import SentenceQueue
from pipeline.serving.service import Service
from pipeline.serving.systems import Systems
from pipeline.serving.workers import StartError, Workers

LEAST_BATCH_SECONDS = 60.0  # before a worker counts as hung


@dataclass(frozen=True)
class Options:
    """What the command line chooses."""

    folders: Sequence[Path]
    engine: str = "torch"
    host: str = "127.0.0.1"
    port: int = 5050
    keys: frozenset[str] = frozenset()
    origins: tuple[str, ...] = ()
    log_text: bool = False
    threads: int = 1
    workers: int = 1
    glossary: Path | None = None
    beam_size: int | None = None  # replaces that of the packages
    splitting: Splitting = "sentences"
    limits: Limits = field(default_factory=Limits)
    command: tuple[str, ...] = (sys.executable, "-P", "-m", worker.__name__)

    @property
    def given(self) -> dict[str, object]:
        """What a worker is told."""
        return {
            "folders": [str(folder) for folder in self.folders],
            "engine": self.engine,
            "threads": self.threads,
            "glossary": str(self.glossary) if self.glossary else None,
            "beam_size": self.beam_size,
        }


def create(options: Options, loaded: Callable[[StartError | None, Service], None]) -> ASGIApp:
    """The application; `loaded` is called once its systems are there, or cannot be."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        limits, queue, systems = options.limits, SentenceQueue(options.limits.queue), Systems()
        workers = Workers(
            options.command,
            options.given,
            queue,
            metrics,
            number=options.workers,
            batch_seconds=max(LEAST_BATCH_SECONDS, 2 * limits.timeout_seconds),
        )
        service = app.state.service = Service(
            systems, queue, workers, limits, metrics, Keys(options.keys), splitting=options.splitting
        )
        metrics.watch(lambda: queue.waiting, lambda: len(workers.running))

        def tell(future: "asyncio.Future[None]") -> None:
            if not future.cancelled():
                error = future.exception()
                assert error is None or isinstance(error, StartError)
                if error is None:
                    try:
                        systems.load(options.folders, workers.systems)
                    except DataError as wrong:
                        error = StartError(str(wrong))
                loaded(error, service)

        workers.loaded.add_done_callback(tell)
        workers.start()
        try:
            yield
        finally:
            await workers.stop()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    for routes in (libretranslate, deepl, inspection, operations):
        app.include_router(routes.router)
    app.mount("/", Page())
    app.add_exception_handler(ServingError, refuse)
    app.add_exception_handler(HTTPException, refuse_http)
    app.add_exception_handler(Exception, refuse_bug)
    if options.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    guard = Guard(app, host=options.host, origins=options.origins, body_bytes=options.limits.body_bytes)
    return Journal(guard, metrics=metrics, with_text=options.log_text)  # around FastAPI's own answers to errors, too


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that we refuse."""
    assert isinstance(error, ServingError)
    return errors.response(request.url.path, error)


def refuse_http(request: Request, error: Exception) -> Response:
    """The answer to a request that no route takes."""
    assert isinstance(error, HTTPException)
    what = {404: "no such page", 405: "wrong method"}.get(error.status_code, str(error.detail))
    said = f"{request.method} {request.url.path[:100]}: {what}; expected one of docs/serving.md"
    return errors.response(request.url.path, ServingError(error.status_code, said))


def refuse_bug(request: Request, error: Exception) -> Response:
    """The answer to a request that met a mistake of ours; the log has its traceback."""
    return errors.response(request.url.path, ServingError(500, "server: failed; its log says why"))
