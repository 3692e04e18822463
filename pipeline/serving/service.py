"""The answers of a server's routes: texts translated sentence by sentence, by the system that suits them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from starlette.exceptions import HTTPException

from ..common.languages import name_of
from ..decoding.texts import SplitLine, ranked
from .batches import Batches
from .cards import card_html
from .engines import Engine
from .requests import Question, TranslationRequest
from .sentences import LINE, sentences

AUTO = "auto"
SAMPLE, SAMPLE_SENTENCES = 300, 3  # characters and sentences by which a language is recognised
Ranks = Sequence[tuple[str, float]]  # translations of a part and their confidence, the best first
SHOWN = ("system", "corpus", "vocabulary", "model", "size", "source_language", "target_language")  # on the page


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
        split = await asyncio.to_thread(self.split, engine, request.texts)
        parts = [part for text in split for part in text.parts]
        answers = await self.batches.results((engine, engine.translate, (1 + request.alternatives,)), parts)
        return await asyncio.to_thread(answer, request, engine, split, answers)

    async def choose(self, request: TranslationRequest) -> Engine:
        """The system for a request; of several source languages that of the system which is surest of a translation.

        Raises: HTTPException (400).
        """
        matches = {
            engine.config.source_language: engine
            for engine in reversed(self.engines)  # the first one stays
            if request.target == engine.config.target_language
            and request.source in (engine.config.source_language, AUTO)
            and request.system in ("", engine.config.system)
        }
        if not matches:
            got = f"{request.source[:20]}-{request.target[:20]} {request.system[:100]}".strip()
            pairs = {f"{engine.config.source_language}-{engine.config.target_language}" for engine in self.engines}
            expected = " or ".join(sorted(pairs))
            raise HTTPException(400, f"source, target: no such system, got {got}; expected {expected}")
        engines = [*matches.values()]
        if len(engines) == 1:
            return engines[0]
        confidences = await asyncio.gather(*(self.confidence(engine, request.texts) for engine in engines))
        return engines[confidences.index(max(confidences))]

    async def confidence(self, engine: Engine, given: Sequence[str]) -> float:
        """A system's confidence in its translation of the beginning of some texts."""
        [sample] = self.split(engine, [" ".join(given)[:SAMPLE]])
        answers = await self.batches.results((engine, engine.translate, (1,)), sample.parts[:SAMPLE_SENTENCES])
        return mean_confidence(answers) or 0.0

    async def attention(self, request: Question) -> dict[str, Any]:
        """A system's attention while it translates a sentence, the first one of a text."""
        engine = self.named(request.system) if request.system else self.engines[0]
        split = await asyncio.to_thread(self.split, engine, request.texts)
        first = next((part for text in split for part in text.parts), "")
        [record] = await self.batches.results((engine, engine.attention, ()), [first])
        return dict(record)

    def split(self, engine: Engine, given: Sequence[str]) -> list[SplitLine]:
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

    def card(self, system: str) -> dict[str, str]:
        """The model card of a system."""
        return {"html": card_html(self.named(system).card)}

    def systems(self) -> dict[str, Any]:
        """Every system, the best first, and what a client must know of this server."""
        systems = [
            {name: getattr(engine.config, name) for name in SHOWN} | {"engine": engine.kind, "score": engine.score}
            for engine in self.engines
        ]
        return {"systems": systems, "characters": self.options.characters, "keys": bool(self.options.keys)}

    def languages(self) -> list[dict[str, Any]]:
        """Every language, and those that it can be translated into."""
        pairs = {(engine.config.source_language, engine.config.target_language) for engine in self.engines}
        return [
            {"code": code, "name": name_of(code), "targets": sorted(to for source, to in pairs if source == code)}
            for code in sorted({code for pair in pairs for code in pair})
        ]


def answer(
    request: TranslationRequest, engine: Engine, split: Sequence[SplitLine], answers: Sequence[Ranks]
) -> dict[str, Any]:
    """The answer to a request, from those to all its parts; the n-th alternative of a text has the n-th of each."""
    rest, translations = iter(answers), []
    for text in split:
        of_parts = [next(rest) for _ in text.parts]
        ranks = [[translation for translation, _ in rank] for rank in ranked(of_parts)]
        best, *others = dict.fromkeys(map(text.join, ranks))
        confidence = mean_confidence(of_parts)
        translation: dict[str, Any] = {
            "translatedText": best,
            "alternatives": others,
            "confidence": confidence,
            "sentences": list(zip(text.parts, text.fitted(ranks[0]), strict=True)),
            "system": engine.config.system,
        }
        if request.source == AUTO:
            language = {"language": engine.config.source_language, "confidence": round(100 * (confidence or 0.0), 1)}
            translation["detectedLanguage"] = language
        translations.append(translation)
    if not isinstance(request.q, list):
        return translations[0]
    names = translations[0] if translations else ["translatedText"]
    return {name: [translation[name] for translation in translations] for name in names}


def mean_confidence(answers: Sequence[Ranks]) -> float | None:
    """The mean confidence of the best answers; None if there are none."""
    return fmean(confidence for (_, confidence), *_ in answers) if answers else None
