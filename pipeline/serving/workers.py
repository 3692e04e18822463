"""The processes that hold the models: started, given batches, replaced when they die."""

import asyncio
import contextlib
import itertools
import json
import logging
import os
from collections.abc import Sequence
from typing import Any, Self

from pipeline.serving.errors import ServingError
from pipeline.serving.metrics import Metrics
from pipeline.serving.sentence_queue import QueuedSentence, SentenceQueue

log = logging.getLogger(__name__)
LINE_BYTES = 256 << 20  # attention of a long sentence in every head of every layer
TRIES = 2  # how often a sentence is given to a worker, if workers die of it
BACKOFF_SECONDS = (0.05, 10.0)  # between two starts that fail, from and to


class StartError(ValueError):
    """A worker cannot load what it was given; the message says why."""


class DeadError(ValueError):
    """A worker ended, or hung, with a batch."""


class Process:
    """One running worker."""

    def __init__(self, process: asyncio.subprocess.Process, systems: list[dict[str, Any]]) -> None:
        self.process, self.systems = process, systems
        self.numbers = itertools.count(1)

    @classmethod
    async def start(cls, command: Sequence[str], given: dict[str, Any]) -> Self:
        """A worker that has loaded its models.

        Raises: StartError.
        """
        pipe = asyncio.subprocess.PIPE
        threads = {"OMP_NUM_THREADS": str(given["threads"])}
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, limit=LINE_BYTES, env=os.environ | threads
            )
        except (OSError, RuntimeError) as error:  # too many processes, threads or open files, too little memory
            raise StartError(f"worker: cannot start, got {error}; expected room for one more process") from None
        try:
            said = await exchange(process, given)
        except BaseException as error:
            await kill(process)
            if isinstance(error, DeadError):
                raise StartError(f"worker: ended while it loaded the models, {error}; expected them to fit") from None
            if isinstance(error, Exception):  # such as no memory for what it says
                raise StartError(f"worker: cannot start, got {type(error).__name__}; expected it to load") from error
            raise
        if "error" in said:
            await kill(process)
            raise StartError(said["error"])
        return cls(process, said["systems"])

    async def do(self, batch: Sequence[QueuedSentence], seconds: float) -> list[Any]:
        """The results of a batch.

        Raises: DeadError. ServingError (500) if the engine failed with it.
        """
        task, number = batch[0].task, next(self.numbers)
        asked = {"id": number, **task._asdict(), "lines": [sentence.line for sentence in batch]}
        try:
            async with asyncio.timeout(seconds):
                said = await exchange(self.process, asked)
        except TimeoutError:
            raise DeadError(f"no answer in {seconds:.0f} s") from None
        if said["id"] != number:
            raise DeadError(f"answer {said['id']} to batch {number}")
        if "error" in said:
            raise ServingError(500, f"engine: cannot translate this, got {said['error']}; expected another sentence")
        if len(said["results"]) != len(batch):
            raise DeadError(f"{len(said['results'])} results of {len(batch)} sentences")
        return list(said["results"])


async def exchange(process: asyncio.subprocess.Process, value: dict[str, Any]) -> dict[str, Any]:
    """The answer to one line.

    Raises: DeadError if the process ends instead, or its line does not end.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError):  # the reading says so
        process.stdin.write(json.dumps(value).encode() + b"\n")
        await process.stdin.drain()
    try:
        line = await process.stdout.readline()
    except ValueError:
        raise DeadError(f"an answer of more than {LINE_BYTES:,} bytes") from None
    if not line.endswith(b"\n"):
        raise DeadError(f"exit status {await process.wait()}")
    return dict(json.loads(line))


async def kill(process: asyncio.subprocess.Process) -> None:
    """End a process, which has nothing to lose, and its pipes."""
    assert process.stdin is not None
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.stdin.close()
    with contextlib.suppress(ConnectionError):
        await process.stdin.wait_closed()
    await process.wait()


class Workers:
    """So many workers, each of which has all models. `command` and `given` start one.

    A worker that has not done a batch in `batch_seconds` counts as hung.
    """

    def __init__(
        self,
        command: Sequence[str],
        given: dict[str, Any],
        queue: SentenceQueue,
        metrics: Metrics,
        *,
        number: int,
        batch_seconds: float,
    ) -> None:
        self.command, self.given, self.queue, self.metrics = command, given, queue, metrics
        self.number, self.batch_seconds = number, batch_seconds
        self.running: dict[int, Process] = {}
        self.systems: list[dict[str, Any]] = []  # as the first worker says
        self.loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # once one has started
        self.tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to start them; `loaded` is done when one has, or failed when the first try did."""
        self.tasks = [asyncio.create_task(self.keep(slot)) for slot in range(self.number)]

    async def stop(self) -> None:
        """End them all."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def keep(self, slot: int) -> None:
        """Keep one worker running and give it batches."""
        pause, last = BACKOFF_SECONDS
        while True:
            try:
                process = await Process.start(self.command, self.given)
            except StartError as error:
                if not self.loaded.done():
                    self.loaded.set_exception(error)
                    return
                log.error("worker %d: %s", slot, error)
                await asyncio.sleep(pause)
                pause = min(last, 2 * pause)
                continue
            pause = BACKOFF_SECONDS[0]
            self.systems, self.running[slot] = process.systems, process
            if not self.loaded.done():
                self.loaded.set_result(None)
            try:
                await self.feed(process)
            except DeadError as error:
                self.metrics.worker_restarts.inc()
                log.error("worker %d: died (%s); another one is started", slot, error)
            except Exception:  # such as no memory for its answer: a slot that ended here would stay empty
                self.metrics.worker_restarts.inc()
                log.exception("worker %d: failed; another one is started", slot)
                await asyncio.sleep(pause)
            finally:
                del self.running[slot]
                await kill(process.process)

    async def feed(self, process: Process) -> None:
        """Give batches to a worker until it dies.

        Raises: DeadError.
        """
        ended = asyncio.ensure_future(process.process.wait())
        taking: asyncio.Future[list[QueuedSentence]] | None = None
        try:
            while True:
                taking = asyncio.ensure_future(self.queue.take())
                await asyncio.wait({taking, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not taking.done():
                    raise DeadError(f"exit status {ended.result()}")
                await self.do(process, taking.result())
        finally:
            ended.cancel()
            if taking is not None:
                taking.cancel()

    async def do(self, process: Process, batch: list[QueuedSentence]) -> None:
        """Do a batch; if the worker dies of it, or the engine fails, its sentences are tried once more, each alone.

        Raises: DeadError.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            results = await process.do(batch, self.batch_seconds)
        except DeadError:
            refusal = ServingError(503, "worker: died twice of this sentence, got no translation; expected one", 1)
            self.again(batch, refusal)
            raise
        except ServingError as error:
            self.again(batch, error)
            return
        except Exception as error:
            got = type(error).__name__
            self.again(batch, ServingError(500, f"server: failed twice with this, got {got}; expected an answer"))
            raise
        except asyncio.CancelledError:
            refusal = ServingError(503, "server: stops, got no translation; expected another try later", 1)
            fail(batch, refusal)
            raise
        seconds = loop.time() - began
        self.queue.done(len(batch), seconds)
        self.metrics.batch(batch[0].task.system, len(batch), seconds)
        for sentence, result in zip(batch, results, strict=True):
            if not sentence.result.done():
                sentence.result.set_result(result)

    def again(self, batch: list[QueuedSentence], refusal: ServingError) -> None:
        """Queue the sentences of a failed batch again, or refuse those that have had their tries."""
        fail([sentence for sentence in batch if sentence.tries >= TRIES], refusal)
        self.queue.put_back(sentence for sentence in batch if sentence.tries < TRIES)


def fail(batch: Sequence[QueuedSentence], error: ServingError) -> None:
    """Refuse the sentences of a batch."""
    for sentence in batch:
        if not sentence.result.done():
            sentence.result.set_exception(error)
