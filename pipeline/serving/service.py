"""What the routes ask for: texts translated sentence by sentence, by the system that suits them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ParamSpec, TypeVar

from fastapi import HTTPException

from ..common.languages import name_of
from ..decoding.texts import Text, ranked
from .batches import Batches
from .engines import Answer, Engine
from .requests import AttentionRequest, TranslationRequest
from .sentences import LINE, sentences

AUTO = "auto"
SAMPLE, SAMPLE_SENTENCES = 300, 3  # characters and sentences by which a language is recognised
SHORT = 5000  # characters of what is computed at once; a thread would cost more than it spares
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Options:
    """What the operator chooses."""

    host: str = "127.0.0.1"
    keys: Sequence[str] = ()
    characters: int = 100_000  # of a request
    by_sentence: bool = True  # or by line, as `nmt translate`


class Service:
    """The systems of a server; of several for a pair of languages the first is the default."""

    def __init__(self, engines: Sequence[Engine], batches: Batches, options: Options) -> None:
        self.engines, self.batches, self.options = engines, batches, options

    async def translate(self, request: TranslationRequest) -> dict[str, Any]:
        """The answer to a request: each value for the one text, or a list of values for a list."""
        engine = await self.choose(request)
        split = await computed(request.texts, self.split, engine, request.texts)
        parts = [part for text in split for part in text.parts]
        answers = await self.batches.translate(engine, parts, 1 + request.alternatives)
        return await computed(request.texts, answer, request, engine, split, answers)

    async def choose(self, request: TranslationRequest) -> Engine:
        """The system for a request; of several source languages that of the system which is surest of a translation.

        Raises: HTTPException (400).
        """
        first: dict[str, Engine] = {}
        for engine in self.engines:
            config = engine.config
            fits = request.target == config.target_language and request.source in (config.source_language, AUTO)
            if fits and request.system in ("", config.system):
                first.setdefault(config.source_language, engine)
        if not first:
            got = f"{request.source[:20]}-{request.target[:20]} {request.system[:100]}".strip()
            pairs = {f"{engine.config.source_language}-{engine.config.target_language}" for engine in self.engines}
            raise HTTPException(
                400, f"source, target: no such system, got {got}; expected {' or '.join(sorted(pairs))}"
            )
        if len(first) == 1:
            return next(iter(first.values()))
        sure = await asyncio.gather(*(self.confidence(engine, request.texts) for engine in first.values()))
        return max(zip(sure, first.values(), strict=True), key=lambda pair: pair[0])[1]

    async def confidence(self, engine: Engine, given: Sequence[str]) -> float:
        """How sure a system is of its translation of the beginning of some texts."""
        [sample] = self.split(engine, [" ".join(given)[:SAMPLE]])
        answers = await self.batches.translate(engine, sample.parts[:SAMPLE_SENTENCES], 1)
        return fmean(best.confidence for best, *_ in answers) if answers else 0.0

    async def attention(self, request: AttentionRequest) -> dict[str, Any]:
        """What a system attends to while it translates a sentence."""
        engine = self.named(request.system) if request.system else self.engines[0]
        [text] = await computed([request.q], self.split, engine, [request.q])
        return await self.batches.beside(engine.attention, text.parts[0] if text.parts else "")

    def split(self, engine: Engine, given: Sequence[str]) -> list[Text]:
        """Texts in the parts that a system translates, by sentence or by line."""
        if self.options.by_sentence:
            return [engine.split(sentences(text, engine.config.source_language)) for text in given]
        return [engine.split(LINE.findall(text)) for text in given]

    def named(self, system: str) -> Engine:
        """The engine of a system.

        Raises: HTTPException (404).
        """
        for engine in self.engines:
            if engine.config.system == system:
                return engine
        raise HTTPException(404, f"system: is not served, got {system[:100]!r}; expected one that /systems lists")

    def languages(self) -> list[dict[str, Any]]:
        """Every language, and those that it can be translated into."""
        targets: dict[str, set[str]] = {}
        for engine in self.engines:
            targets.setdefault(engine.config.source_language, set()).add(engine.config.target_language)
            targets.setdefault(engine.config.target_language, set())
        return [{"code": code, "name": name_of(code), "targets": sorted(targets[code])} for code in sorted(targets)]


async def computed(given: Sequence[str], function: Callable[P, R], *values: P.args, **named: P.kwargs) -> R:
    """What a function gives for some texts; with long ones it runs beside the event loop."""
    if sum(map(len, given)) + len(given) <= SHORT:
        return function(*values, **named)
    return await asyncio.to_thread(function, *values, **named)


def answer(
    request: TranslationRequest, engine: Engine, split: Sequence[Text], answers: Sequence[Sequence[Answer]]
) -> dict[str, Any]:
    """The answer to a request, from those to all its parts."""
    rest, found = iter(answers), []
    for text in split:
        one = translated(text, [next(rest) for _ in text.parts], request.alternatives)
        one["system"] = engine.config.system
        if request.source == AUTO:
            confidence = round(100 * (one["confidence"] or 0.0), 1)
            one["detectedLanguage"] = {"language": engine.config.source_language, "confidence": confidence}
        found.append(one)
    if not isinstance(request.q, list):
        return found[0]
    return {name: [one[name] for one in found] for name in found[0]} if found else {"translatedText": []}


def translated(text: Text, answers: Sequence[Sequence[Answer]], alternatives: int) -> dict[str, Any]:
    """A text from the answers to its parts; its n-th alternative has the n-th of each."""
    ranks = [[one.text for one in rank] for rank in ranked(answers, 1 + alternatives)]
    first, *others = dict.fromkeys(map(text.join, ranks))
    return {
        "translatedText": first,
        "alternatives": others,
        "confidence": fmean(best.confidence for best, *_ in answers) if answers else None,
        "sentences": list(zip(text.parts, text.fitted(ranks[0]), strict=True)),
    }
