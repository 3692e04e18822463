"""The sentences of all requests, translated in batches by one thread beside the event loop."""

import asyncio
import heapq
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from .engines import Answer, Engine

BATCH = 64  # sentences: what comes next waits for no more than these
WINDOW_SECONDS = 0.005  # those that arrive within it go together
# Each further sentence of a request counts as if it had come so much later: a short request goes before the rest of a
# long one, and yet no long one waits for ever.
SPREAD_SECONDS = 0.02
log = logging.getLogger(__name__)
R = TypeVar("R")


class BusyError(RuntimeError):
    """Too many sentences wait already."""


class EngineError(RuntimeError):
    """An engine failed; the log says why."""


@dataclass(order=True)
class Waiting:
    """A sentence that waits for its translation."""

    due: float
    order: int
    line: str = field(compare=False)
    result: "asyncio.Future[list[Answer]]" = field(compare=False)


class Batches:
    """Sentences in, translations out; `run` must be running."""

    def __init__(self, size: int, done: Callable[[str, int, float], None]) -> None:
        self.size, self.done = size, done  # sentences that may wait; what hears of each batch
        self.heaps: dict[tuple[Engine, int], list[Waiting]] = {}
        self.arrival, self.order = asyncio.Event(), itertools.count()
        self.thread = ThreadPoolExecutor(1, "translate")

    @property
    def waiting(self) -> int:
        """How many sentences wait."""
        return sum(map(len, self.heaps.values()))

    async def translate(self, engine: Engine, lines: Sequence[str], number: int) -> list[list[Answer]]:
        """The `number` best translations of each line; a caller that is cancelled gives up what still waits.

        Raises: BusyError, EngineError.
        """
        if self.waiting + len(lines) > self.size and self.heaps:
            raise BusyError(f"{self.waiting} sentences wait already")
        loop = asyncio.get_running_loop()
        results: list[asyncio.Future[list[Answer]]] = [loop.create_future() for _ in lines]
        for index, (line, result) in enumerate(zip(lines, results, strict=True)):
            due = loop.time() + index * SPREAD_SECONDS
            heapq.heappush(self.heaps.setdefault((engine, number), []), Waiting(due, next(self.order), line, result))
        self.arrival.set()
        return await asyncio.gather(*results)

    async def beside(self, function: Callable[..., R], *given: object) -> R:
        """What a function gives that needs a network, between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *given)

    async def run(self) -> None:
        """Translate what comes, until cancelled."""
        while True:
            (engine, number), batch = await self.take()
            began = time.monotonic()
            try:
                answers = await self.beside(engine.translate, [one.line for one in batch], number)
            except Exception:
                log.exception("%s: cannot translate %d sentences", engine.config.system, len(batch))
                error = EngineError(f"{engine.config.system}: cannot translate this; the server's log says why")
                for one in batch:
                    if not one.result.cancelled():
                        one.result.set_exception(error)
                continue
            for one, answer in zip(batch, answers, strict=True):
                if not one.result.cancelled():
                    one.result.set_result(answer)
            self.done(engine.config.system, len(batch), time.monotonic() - began)

    async def take(self) -> tuple[tuple[Engine, int], list[Waiting]]:
        """The next batch, of the engine whose turn it is; waits for one."""
        batch: list[Waiting] = []
        while not batch:
            while not self.heaps:  # a request may have no sentence
                self.arrival.clear()
                await self.arrival.wait()
            if self.waiting < BATCH:
                await asyncio.sleep(WINDOW_SECONDS)
            key = min(self.heaps, key=lambda one: self.heaps[one][0])
            heap = self.heaps[key]
            while heap and len(batch) < BATCH:
                if not (one := heapq.heappop(heap)).result.cancelled():
                    batch.append(one)
            if not heap:
                del self.heaps[key]
        return key, batch
