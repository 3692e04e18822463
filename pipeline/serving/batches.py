"""The sentences of all requests, translated in batches by one thread beside the event loop."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client import Counter, Gauge, Histogram
from starlette.exceptions import HTTPException

from .engines import Answer, Engine

BATCH = 64  # sentences: what comes next waits for no more than these
WINDOW_SECONDS = 0.005  # those that arrive within it go together
MOST_WAITING = 10_000  # sentences
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # bounds of the histograms
TRANSLATED = Counter("nmt_sentences", "Sentences translated.", ["system"])
BATCH_SECONDS = Histogram("nmt_batch_seconds", "Time of a batch.", buckets=SECONDS)
WAITING = Gauge("nmt_waiting_sentences", "Sentences that wait.")
log = logging.getLogger(__name__)
Sentence = tuple[str, "asyncio.Future[list[Answer]]"]  # with what its translations become
R = TypeVar("R")


@dataclass(eq=False)
class Job:
    """The sentences of one request that wait for their translations."""

    search: tuple[Engine, int]  # what translates, into how many
    waiting: deque[Sentence]


class Batches:
    """Sentences in, translations out; `run` must be running."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []  # the next in turn first
        self.arrival = asyncio.Event()
        self.thread = ThreadPoolExecutor(1, "translate")
        WAITING.set_function(lambda: self.waiting)

    @property
    def waiting(self) -> int:
        """How many sentences wait."""
        return sum(len(job.waiting) for job in self.jobs)

    async def translate(self, engine: Engine, lines: Sequence[str], number: int) -> list[list[Answer]]:
        """The `number` best translations of each line; a caller that is cancelled gives up what still waits.

        Raises: HTTPException (500, 503).
        """
        if (waiting := self.waiting) and waiting + len(lines) > MOST_WAITING:
            message = f"server: busy, {waiting} sentences wait already; try again"
            raise HTTPException(503, message, {"Retry-After": "2"})
        loop = asyncio.get_running_loop()
        translations: list[asyncio.Future[list[Answer]]] = [loop.create_future() for _ in lines]
        job = Job((engine, number), deque(zip(lines, translations, strict=True)))
        self.jobs.append(job)
        self.arrival.set()
        try:
            return await asyncio.gather(*translations)
        finally:
            self.jobs.remove(job)

    async def beside(self, function: Callable[..., R], *arguments: object) -> R:
        """The result of a function that needs a network, between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)

    async def run(self) -> None:
        """Translate what comes, until cancelled."""
        while True:
            (engine, number), batch = await self.take()
            began, system = time.monotonic(), engine.config.system
            try:
                answers = await self.beside(engine.translate, [line for line, _ in batch], number)
            except Exception:
                log.exception("%s: cannot translate %d sentences", system, len(batch))
                error = HTTPException(500, f"{system}: cannot translate this; the server's log says why")
                for _, translation in batch:
                    if not translation.done():
                        translation.set_exception(error)
                continue
            for (_, translation), answer in zip(batch, answers, strict=True):
                if not translation.done():
                    translation.set_result(answer)
            TRANSLATED.labels(system).inc(len(batch))
            BATCH_SECONDS.observe(time.monotonic() - began)

    async def take(self) -> tuple[tuple[Engine, int], list[Sentence]]:
        """The next batch, as soon as there is one: requests take turns, each with one sentence at a time."""
        while not self.waiting:
            self.arrival.clear()
            await self.arrival.wait()
            await asyncio.sleep(WINDOW_SECONDS)
        search = next(job.search for job in self.jobs if job.waiting)
        batch: list[Sentence] = []
        while len(batch) < BATCH and (jobs := [job for job in self.jobs if job.waiting and job.search == search]):
            for job in jobs[: BATCH - len(batch)]:
                batch.append(job.waiting.popleft())
                self.jobs.remove(job)
                self.jobs.append(job)
        return search, batch
