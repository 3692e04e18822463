"""The sentences that wait for a worker: a bounded queue that hands them out in batches.

A batch holds sentences of one system that ask for equally many translations. Those that arrive within `WINDOW_SECONDS`
go together. A sentence of a document counts as if it had come `HEAD_START_SECONDS` later, so interactive ones go first
and yet no document waits for ever.
"""

import asyncio
import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pipeline.serving.errors import ServingError

WINDOW_SECONDS = 0.005
HEAD_START_SECONDS = 2.0
BATCH = 64  # sentences: what comes next waits for no more than these
CANDIDATES = 4 * BATCH  # in front of the queue, of which the longest waiting and those of like length are taken
DOCUMENTS = 0.9  # share of the queue that documents may fill
LONGEST_WAIT = 60  # seconds that a client is told to wait, at most
RATE_MEMORY = 0.9  # weight of the past in the speed that waiting times are estimated by


class Task(NamedTuple):
    """What is wanted of a sentence; equal tasks can be done together."""

    kind: Literal["translate", "attention"]
    system: str
    number: int = 1  # of translations


@dataclass(eq=False)
class QueuedSentence:
    """A sentence on its way; `result` is done when it is translated, refused or given up."""

    task: Task
    line: str
    document: bool
    arrived: float
    result: "asyncio.Future[Any]"
    tries: int = 0
    waits: bool = field(default=False)

    @property
    def due(self) -> float:
        """The sooner, the earlier its turn."""
        return self.arrived + (HEAD_START_SECONDS if self.document else 0.0)


class SentenceQueue:
    """Sentences in, batches out."""

    def __init__(self, size: int, clock: Callable[[], float] | None = None) -> None:
        self.size = size
        self.clock = clock or (lambda: asyncio.get_running_loop().time())
        self.heaps: dict[Task, list[tuple[float, int, QueuedSentence]]] = {}
        # A worker died with these: each is tried alone, as one of them may be the reason.
        self.again: deque[QueuedSentence] = deque()
        self.waiting = 0
        self.arrival = asyncio.Event()
        self.numbers = itertools.count()
        self.sentences_per_second = 0.0

    def put(self, task: Task, lines: Iterable[str], *, document: bool) -> list[QueuedSentence]:
        """Queue sentences, all or none; cancel their results to give them up.

        Raises: ServingError (503) if there is no room.
        """
        lines, now = list(lines), self.clock()
        room = self.most(document=document) - self.waiting
        if len(lines) > room:
            raise ServingError(
                503,
                f"queue: is full, got {len(lines)} more sentences; expected {max(room, 0)}, try again later",
                self.retry_seconds(),
            )
        if sum(map(len, self.heaps.values())) > self.waiting + self.size:  # mostly of clients that have left
            self.drop_given_up_anywhere()
        loop = asyncio.get_running_loop()
        sentences = [QueuedSentence(task, line, document, now, loop.create_future()) for line in lines]
        for sentence in sentences:
            heapq.heappush(self.heaps.setdefault(task, []), (sentence.due, next(self.numbers), sentence))
            self.admit(sentence)
        return sentences

    def most(self, *, document: bool) -> int:
        """How many sentences an empty queue takes, of a document or of a person."""
        return max(1, int(self.size * DOCUMENTS)) if document else self.size

    def put_back(self, sentences: Iterable[QueuedSentence]) -> None:
        """Queue sentences whose worker died, each for a batch of its own."""
        for sentence in sentences:
            if not sentence.result.done():
                self.again.append(sentence)
                self.admit(sentence)

    def admit(self, sentence: QueuedSentence) -> None:
        """Count a sentence that waits, until it is taken or given up."""
        if not sentence.waits:
            sentence.waits = True
            self.waiting += 1
            sentence.result.add_done_callback(lambda _: self.dismiss(sentence))
        self.arrival.set()

    def dismiss(self, sentence: QueuedSentence) -> None:
        """Count a sentence that waits no longer."""
        if sentence.waits:
            sentence.waits = False
            self.waiting -= 1

    async def take(self) -> list[QueuedSentence]:
        """The next batch, sorted by length; waits for one."""
        while True:
            self.drop_given_up()
            if self.again:
                return [self.taken(self.again.popleft())]
            if not self.heaps:
                self.arrival.clear()
                await self.arrival.wait()
                continue
            task = min(self.heaps, key=lambda one: self.heaps[one][0][:2])
            heap = self.heaps[task]
            left = heap[0][2].arrived + WINDOW_SECONDS - self.clock()
            if left > 0 and len(heap) < BATCH:
                await asyncio.sleep(left)  # meanwhile another worker may have taken it
                continue
            return self.batch(task)

    def batch(self, task: Task) -> list[QueuedSentence]:
        """The sentence of a task whose turn it is, persons' and those of like length, shortest first.

        Batches of like length are quicker; and as the first is always taken, none is passed over for ever.
        """
        heap = self.heaps[task]
        front = [heapq.heappop(heap) for _ in range(min(len(heap), CANDIDATES))]
        front = [entry for entry in front if not entry[2].result.done()]
        first = front[0][2]

        def rank(entry: tuple[float, int, QueuedSentence]) -> tuple[bool, bool, int]:
            sentence = entry[2]
            return sentence is not first, sentence.document, abs(len(sentence.line) - len(first.line))

        front.sort(key=rank)
        size = BATCH if task.kind == "translate" else 1
        for entry in front[size:]:
            heapq.heappush(heap, entry)
        if not heap:
            del self.heaps[task]
        return sorted((self.taken(entry[2]) for entry in front[:size]), key=lambda sentence: len(sentence.line))

    def taken(self, sentence: QueuedSentence) -> QueuedSentence:
        """A sentence that leaves the queue."""
        self.dismiss(sentence)
        sentence.tries += 1
        return sentence

    def drop_given_up(self) -> None:
        """Remove the sentences in front whose clients have left."""
        while self.again and self.again[0].result.done():
            self.again.popleft()
        for task, heap in list(self.heaps.items()):
            while heap and heap[0][2].result.done():
                heapq.heappop(heap)
            if not heap:
                del self.heaps[task]

    def drop_given_up_anywhere(self) -> None:
        """Remove all sentences whose clients have left."""
        kept = {task: [entry for entry in heap if not entry[2].result.done()] for task, heap in self.heaps.items()}
        self.heaps = {task: heap for task, heap in kept.items() if heap}
        for heap in self.heaps.values():
            heapq.heapify(heap)

    def done(self, number: int, seconds: float) -> None:
        """Learn from a batch how quick the workers are."""
        now = number / max(seconds, 1e-6)
        past = self.sentences_per_second or now
        self.sentences_per_second = RATE_MEMORY * past + (1 - RATE_MEMORY) * now

    def retry_seconds(self) -> int:
        """After how many seconds half of what waits should be done."""
        if not self.sentences_per_second:
            return 1
        return min(LONGEST_WAIT, max(1, math.ceil(self.waiting / 2 / self.sentences_per_second)))
