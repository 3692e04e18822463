"""What routes ask for: texts translated, sentence by sentence, by the system that suits them."""

import asyncio
import heapq
import math
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from pipeline.serving import documents
from pipeline.serving.answers import Answer
from pipeline.serving.documents import Form, Splitting
from pipeline.serving.errors import ServingError
from pipeline.serving.limits import Clients, Limits
from pipeline.serving.metrics import Metrics
from pipeline.serving.security import Keys
from pipeline.serving.sentence_queue import BATCH, QueuedSentence, SentenceQueue, Task
from pipeline.serving.systems import Served, Systems
from pipeline.serving.workers import Workers

# DeepL's field `split_sentences`; where a request does not say, the server's own splitting
SPLITTING: dict[str, Splitting | None] = {"": None, "1": "sentences", "nonewlines": "across lines", "0": "nothing"}
INTERACTIVE = 8  # sentences of a request that is a person's; one of more is a document
LONG_TEXT = 10_000  # characters that are split beside the event loop
SAMPLE, SAMPLE_SENTENCES = 300, 3  # characters and sentences by which a language is recognised, at most
STREAMED = 2 * BATCH  # sentences of a stream that wait or are under way: one batch each
FULL_SECONDS = 0.05  # between two tries of a stream to go on, when the queue is full


class Translated(NamedTuple):
    """A text that was translated."""

    text: str
    alternatives: list[str]
    confidences: list[float]  # of each sentence: the mean log-probability of its pieces
    system: str
    language: str  # of the source

    @property
    def confidence(self) -> float | None:
        """The mean over the sentences; None if there are none."""
        return mean(self.confidences) if self.confidences else None

    @property
    def probability(self) -> float:
        """How sure the system is of a piece of its translation: the geometric mean; 0 if there is none."""
        return math.exp(mean(self.confidences))


class Asked(NamedTuple):
    """How texts are to be translated."""

    source: str  # code of a language, or `auto`
    target: str
    system: str | None = None
    form: Form = "text"
    alternatives: int = 0
    splitting: Splitting | None = None  # without: as the server does; HTML is split into blocks at least
    left_alone: frozenset[str] = frozenset()  # names of elements of HTML that are not translated


class Service:
    """A server's systems, and the way to them."""

    def __init__(
        self,
        systems: Systems,
        queue: SentenceQueue,
        workers: Workers,
        limits: Limits,
        metrics: Metrics,
        keys: Keys,
        *,
        splitting: Splitting = "sentences",
    ) -> None:
        self.systems, self.queue, self.workers, self.limits = systems, queue, workers, limits
        self.metrics, self.keys, self.clients, self.splitting = metrics, keys, Clients(limits), splitting
        self.characters: dict[str, int] = {}  # that each key has had translated; without keys, everybody

    async def translate(self, texts: Sequence[str], asked: Asked) -> list[Translated]:
        """The texts in their order.

        Raises: ServingError.
        """
        self.check(texts)
        async with in_time(self.limits.timeout_seconds):
            await self.loaded()
            chosen = await self.choose(texts, asked)
            split = [await self.split(text, asked, system) for text, system in zip(texts, chosen, strict=True)]
            self.check_sentences([sentence for document in split for sentence in document.sentences])
            tasks = [Task("translate", system.id, 1 + asked.alternatives) for system in chosen]
            found = await self.ask_all(tasks, [document.sentences for document in split])
        return [
            joined(document, answers, system, asked.alternatives)
            for document, answers, system in zip(split, found, chosen, strict=True)
        ]

    async def stream(self, text: str, asked: Asked) -> AsyncIterator[dict[str, Any]]:
        """A record for each sentence of a text, in order, as soon as it is translated; at last one for the whole.

        Raises: ServingError.
        """
        self.check([text])
        async with in_time(self.limits.timeout_seconds):
            await self.loaded()
            [system] = await self.choose([text], asked)
            document = await self.split(text, asked, system)
        for sentence in document.sentences:
            self.check_sentence(sentence)
        task, lines = Task("translate", system.id), deque(document.sentences)
        waiting: deque[QueuedSentence] = deque()
        translations: list[str] = []
        try:
            while lines or waiting:
                async with in_time(self.limits.timeout_seconds):
                    await self.fill(waiting, lines, task, first=not translations)
                    [answer, *_] = await waiting[0].result
                line, best = waiting.popleft().line, Answer(*answer)
                yield {
                    "index": len(translations),
                    "source": line,
                    "translatedText": best.text,
                    "confidence": best.confidence,
                }
                translations.append(best.text)
        finally:
            give_up(waiting)
        yield {"done": True, "translatedText": document.join(translations), "system": system.id}

    async def fill(self, waiting: deque[QueuedSentence], lines: deque[str], task: Task, *, first: bool) -> None:
        """Queue more sentences of a stream, so that `waiting` has one at least."""
        while lines and len(waiting) < STREAMED:
            try:
                waiting += self.queue.put(task, [lines[0]], document=True)
                lines.popleft()
            except ServingError:
                if waiting:
                    return
                if first:
                    raise
                await asyncio.sleep(FULL_SECONDS)

    async def attention(self, line: str, system: str | None) -> tuple[str, str]:
        """The translation of one line, and what a system looks at while it translates it, as JSON.

        Raises: ServingError.
        """
        self.check([line])
        self.check_sentence(line)
        async with in_time(self.limits.timeout_seconds):
            await self.loaded()
            chosen = self.systems.named(system) if system else self.systems.all[0]
            [[found]] = await self.ask_all([Task("attention", chosen.id)], [[line]])
        return str(found["text"]), str(found["record"])

    async def detect(
        self, texts: Sequence[str], among: Sequence[Served], form: Form = "text"
    ) -> list[list[tuple[Served, float]]]:
        """For each text, how probable the systems find their translations of its beginning, the most probable first.

        The probability is the geometric mean of a piece's: a system that does not know the language is unsure.
        """
        pairs = [(text, one) for text in texts for one in among]
        samples = [sample((await self.split(text, Asked("auto", "", form=form), one)).sentences) for text, one in pairs]
        self.check_sentences([sentence for sample in samples for sentence in sample])
        found = await self.ask_all([Task("translate", one.id) for _, one in pairs], samples, systems=len(among))
        sure = iter([math.exp(mean([Answer(*best).confidence for best, *_ in answers])) for answers in found])
        return [sorted(((one, next(sure)) for one in among), key=lambda pair: -pair[1]) for _ in texts]

    async def detected(self, text: str) -> list[tuple[str, float]]:
        """The languages that are loaded, and how probable the first system of each finds its translation of a text."""
        self.check([text])
        async with in_time(self.limits.timeout_seconds):
            await self.loaded()
            [found] = await self.detect([text], self.systems.first_of_each_source(self.systems.all))
        return [(system.source, probability) for system, probability in found]

    async def choose(self, texts: Sequence[str], asked: Asked) -> list[Served]:
        """The system for each text; if several languages may be its source, the one that is surest of a translation."""
        candidates = self.systems.fitting(asked.source, asked.target, asked.system)
        if len(each := self.systems.first_of_each_source(candidates)) == 1:
            return candidates[:1] * len(texts)
        return [surest for [(surest, _), *_] in await self.detect(texts, each, asked.form)]

    async def loaded(self) -> None:
        """Wait until the systems are loaded."""
        await asyncio.shield(self.workers.loaded)

    async def split(self, text: str, asked: Asked, system: Served) -> documents.Document:
        """A text in sentences."""
        by = asked.splitting or self.splitting
        split = partial(documents.split, text, asked.form, system.source, by=by, left_alone=asked.left_alone)
        return await asyncio.to_thread(split) if len(text) > LONG_TEXT else split()

    async def ask_all(
        self, tasks: Sequence[Task], lines: Sequence[Sequence[str]], *, systems: int = 1
    ) -> list[list[Any]]:
        """The result of every line of every task; a request that is given up gives up its lines.

        So many `systems` read the same lines, which count once.
        """
        document = sum(map(len, lines)) > INTERACTIVE * systems
        queued: list[list[QueuedSentence]] = []
        try:
            for task, some in zip(tasks, lines, strict=True):
                queued.append(self.queue.put(task, some, document=document))
            return [[await sentence.result for sentence in sentences] for sentences in queued]
        finally:
            for sentences in queued:
                give_up(sentences)

    def check(self, texts: Sequence[str]) -> None:
        """Check the size of a request.

        Raises: ServingError (413).
        """
        limits, characters = self.limits, sum(map(len, texts))
        if len(texts) > limits.texts:
            raise ServingError(413, f"q: has too many texts, got {len(texts):,}; expected at most {limits.texts:,}")
        if characters > limits.characters:
            raise ServingError(413, f"q: is too long, got {characters:,} characters; expected {limits.characters:,}")

    def check_sentences(self, sentences: Sequence[str]) -> None:
        """Check the sentences of a request.

        Raises: ServingError (413).
        """
        most = max(self.queue.most(document=True), min(INTERACTIVE, self.queue.size))
        if len(sentences) > most:
            raise ServingError(
                413,
                f"q: has more sentences than the queue takes, got {len(sentences):,}; expected at most {most:,}, or "
                "/translate/stream",
            )
        for sentence in sentences:
            self.check_sentence(sentence)

    def check_sentence(self, sentence: str) -> None:
        """Check the length of a sentence: what an engine needs grows with its square.

        Raises: ServingError (413).
        """
        if len(sentence) > (most := self.limits.sentence_characters):
            raise ServingError(413, f"q: has a sentence of {len(sentence):,} characters; expected at most {most:,}")


@asynccontextmanager
async def in_time(seconds: float) -> AsyncIterator[None]:
    """A block that may take so many seconds.

    Raises: ServingError (504).
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ServingError(504, f"server: no translation within {seconds:g} s; expected shorter texts") from None


def sample(sentences: Sequence[str]) -> list[str]:
    """The first sentences of a text, as far as a language is recognised by them."""
    found, left = [], SAMPLE
    for sentence in sentences[:SAMPLE_SENTENCES]:
        if left > 0:
            found.append(sentence[:left])
            left -= len(sentence)
    return found


def give_up(sentences: Iterable[QueuedSentence]) -> None:
    """Drop those that still wait."""
    for sentence in sentences:
        sentence.result.cancel()


def joined(document: documents.Document, answers: list[Any], system: Served, alternatives: int) -> Translated:
    """A text from the translations of its sentences."""
    options = [[Answer(*answer) for answer in some] for some in answers]
    best = [some[0] for some in options]
    # The engine's order counts, which may be another one than that of the scores: the first stays the first.
    scores = [list(accumulate((answer.score for answer in some), min)) for some in options]
    ranked = combinations(scores, 1 + alternatives)
    texts = [document.join([some[i].text for some, i in zip(options, chosen, strict=True)]) for chosen in ranked]
    first, *others = dict.fromkeys(texts)  # different pieces may spell one text
    return Translated(
        first,
        others,
        [answer.confidence for answer in best],
        system.id,
        system.source,
    )


def combinations(scores: Sequence[Sequence[float]], number: int) -> list[tuple[int, ...]]:
    """The `number` best ways to choose one answer a sentence, the best first, by the sum of their scores."""
    totals, steps = [0.0], []  # a step: which of the best ways before goes on, and with which answer
    for options in scores:
        longer = ((total + score, (way, i)) for way, total in enumerate(totals) for i, score in enumerate(options))
        found = heapq.nlargest(number, longer, key=lambda one: one[0])
        totals = [total for total, _ in found]
        steps.append([step for _, step in found])
    return [chosen(steps, way) for way in range(len(totals))]


def chosen(steps: Sequence[Sequence[tuple[int, int]]], way: int) -> tuple[int, ...]:
    """The answers of one of the ways that the last step ends with."""
    found = []
    for step in reversed(steps):
        way, answer = step[way]
        found.append(answer)
    return tuple(reversed(found))


def mean(values: Sequence[float]) -> float:
    """The mean; minus infinity of nothing."""
    return sum(values) / len(values) if values else -math.inf
