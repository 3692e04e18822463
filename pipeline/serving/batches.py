"""The sentences of all requests, which one thread beside the event loop translates in batches."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.exceptions import HTTPException

from .engines import Engine

BATCH = 64  # sentences: what comes next waits for no more than these
MOST_WAITING = 20_000  # sentences
log = logging.getLogger(__name__)
Task = tuple[Engine, Callable[..., Sequence[Any]], tuple[Any, ...]]  # a method of an engine, and what else it takes
Sentence = tuple[str, asyncio.Future[Any]]  # and its result


class Batches:
    """Sentences in, results out; `run` must be running."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Task, deque[Sentence]]] = []  # of each request what waits, the next in turn first
        self.arrival = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many sentences wait."""
        return sum(len(sentences) for _, sentences in self.jobs)

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
        self.jobs.append((task, sentences := deque(zip(lines, results, strict=True))))
        self.arrival.set()
        try:
            return await asyncio.gather(*results)
        finally:
            sentences.clear()

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
        jobs, batch = [job for job in self.jobs if job[1]], list[Sentence]()
        task = jobs[0][0]
        turn = deque(sentences for other, sentences in jobs if other == task)
        while turn and len(batch) < BATCH:
            batch.append(turn[0].popleft())
            turn.rotate(-1)
            if not turn[-1]:
                turn.pop()
        self.jobs = [*(job for job in jobs if job[0] != task), *((task, sentences) for sentences in turn)]
        return task, batch
