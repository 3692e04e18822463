"""The sentences of all requests, which one thread beside the event loop translates in batches."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from .engines import Engine

BATCH = 64  # sentences: what comes next waits for no more than these
MOST_WAITING = 20_000  # sentences
log = logging.getLogger(__name__)
Task = tuple[Engine, Callable[..., Sequence[Any]], tuple[Any, ...]]  # a method of an engine, and what else it takes
Sentence = tuple[str, asyncio.Future[Any]]  # and its result


@dataclass(eq=False)
class Job:
    """The sentences of a request that wait for their results."""

    task: Task
    waiting: deque[Sentence]


class Batches:
    """Sentences in, results out; `run` must be running."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []  # the next in turn first
        self.arrival = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many sentences wait."""
        return sum(len(job.waiting) for job in self.jobs)

    async def results(self, task: Task, lines: Sequence[str]) -> list[Any]:
        """The result of a task for each line; a caller that is cancelled gives up what still waits.

        Raises: HTTPException (500, 503).
        """
        waiting = self.waiting
        if len(lines) > max(BATCH, MOST_WAITING - waiting):  # a short request only waits for its turn
            message = f"server: busy, {waiting} sentences wait already; try again"
            raise HTTPException(503, message, {"Retry-After": "2"})
        loop = asyncio.get_running_loop()
        results: list[asyncio.Future[Any]] = [loop.create_future() for _ in lines]
        job = Job(task, deque(zip(lines, results, strict=True)))
        self.jobs.append(job)
        self.arrival.set()
        try:
            return await asyncio.gather(*results)
        finally:
            self.jobs.remove(job)

    async def run(self) -> None:
        """Translate what comes, until cancelled."""
        thread, loop = ThreadPoolExecutor(1, "translate"), asyncio.get_running_loop()
        while True:
            while not self.waiting:
                self.arrival.clear()
                await self.arrival.wait()
            (engine, method, more), batch = self.take()
            try:
                answers = await loop.run_in_executor(thread, method, [line for line, _ in batch], *more)
            except Exception:
                what = f"{engine.config.system}: cannot translate this"
                log.exception(what)
                answers = [HTTPException(500, f"{what}; the server's log says why")] * len(batch)
            for (_, result), answer in zip(batch, answers, strict=True):
                if not result.done():
                    (result.set_exception if isinstance(answer, Exception) else result.set_result)(answer)

    def take(self) -> tuple[Task, list[Sentence]]:
        """The next batch: requests take turns, each with one sentence at a time."""
        task = next(job.task for job in self.jobs if job.waiting)
        batch: list[Sentence] = []
        while len(batch) < BATCH and (jobs := [job for job in self.jobs if job.waiting and job.task == task]):
            for job in jobs[: BATCH - len(batch)]:
                batch.append(job.waiting.popleft())
                self.jobs.remove(job)
                self.jobs.append(job)
        return task, batch
