"""The answers of a server's routes: texts translated sentence by sentence, by the system that suits them."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from markdown_it import MarkdownIt
from starlette.exceptions import HTTPException

from ..decoding.texts import SplitLine, ranked
from ..languages.codes import match, name_of
from ..languages.identification import identify
from .batches import Batches
from .engines import Engine
from .requests import MOST_SENTENCES, Question, TranslationRequest
from .sentences import LINE, sentences

AUTO = "auto"
FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)  # of a card, which the hub indexes
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
SAMPLE = 1000  # characters by which a language is recognised
Ranks = Sequence[tuple[str, float]]  # translations of a part and their confidence, the best first
SHOWN = ("corpus", "vocabulary", "model", "size", "source_language", "target_language")  # on the page


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
        self.engines, self.batches, self.options = by_name(engines), batches, options

    async def translate(self, request: TranslationRequest) -> dict[str, Any]:
        """The answer to a request: each value for the one text, or a list of values for a list."""
        name, detected = await asyncio.to_thread(self.choose, request)
        engine, about = self.engines[name], {"system": name} | ({"detectedLanguage": detected} if detected else {})
        split = await asyncio.to_thread(self.split, engine, request.texts)
        parts = [part for text in split for part in text.parts]
        ranks = await self.batches.results((engine, engine.translate, (1 + request.alternatives,)), parts)
        return await asyncio.to_thread(answer, request, about, split, ranks)

    def choose(self, request: TranslationRequest) -> tuple[str, dict[str, Any]]:
        """The name of the system for a request, and the language that was detected if that was asked for.

        Raises: HTTPException (400, 404).
        """
        is_auto = request.source.lower() == AUTO
        named = self.named(request.system).items()
        pairs = {name: engine.pair for name, engine in named if is_auto or match(request.source, engine.pair[:1])}
        target = match(request.target, {target for _, target in pairs.values()})
        sources = sorted({source for source, to in pairs.values() if to == target})
        detected = detection(request, sources) if is_auto and sources else {}
        source = detected["language"] if detected else match(request.source, sources)
        for name, pair in pairs.items():
            if pair == (source, target):
                return name, detected
        got, served = f"{request.source[:20]}-{request.target[:20]}", {"-".join(engine.pair) for _, engine in named}
        raise HTTPException(400, f"source, target: no such system, got {got}; expected {' or '.join(sorted(served))}")

    async def detect(self, request: Question) -> list[dict[str, Any]]:
        """The language of a text, among those of the systems."""
        return [await asyncio.to_thread(detection, request, [entry["code"] for entry in self.languages()])]

    async def attention(self, request: Question) -> dict[str, Any]:
        """A system's attention while it translates a sentence, the first one of a text."""
        engine, *_ = self.named(request.system).values()
        split = await asyncio.to_thread(self.split, engine, request.texts)
        first = next((part for text in split for part in text.parts), "")
        [record] = await self.batches.results((engine, engine.attention, ()), [first])
        return dict(record)

    def split(self, engine: Engine, texts: Sequence[str]) -> list[SplitLine]:
        """Texts in the parts that a system translates, by sentence or by line.

        Raises: HTTPException (413).
        """
        split, number, language = list[SplitLine](), 0, engine.config.source_language
        for text in texts:
            units = [*(sentences(text, language) if self.options.by_sentence else LINE.findall(text))]
            number += sum(not unit.isspace() for unit in units) + (not units)
            if number <= MOST_SENTENCES:
                split.append(engine.split(units))
                number += max(0, len(split[-1].parts) - len(units))
            if number > MOST_SENTENCES:
                raise HTTPException(413, f"q: is too long; expected at most {MOST_SENTENCES:,} texts and sentences")
        return split

    def named(self, system: str) -> dict[str, Engine]:
        """The engines of a system by their names, of no system in particular all.

        Raises: HTTPException (404).
        """
        named = {n: engine for n, engine in self.engines.items() if system in ("", n, engine.config.system)}
        if not named:
            raise HTTPException(404, f"system: is not served, got {system[:100]!r}; expected one that /systems lists")
        return named

    def card(self, system: str) -> dict[str, str]:
        """The model card of a system, which is Markdown: nothing in it is taken as HTML or loaded from elsewhere."""
        engine, *_ = self.named(system).values()
        tokens = MARKDOWN.parse(FRONT_MATTER.sub("", engine.card, count=1))
        for token in tokens:
            if token.attrs.pop("style", None) == "text-align:right":  # the page takes no styles in elements
                token.attrs["class"] = "number"
        return {"html": str(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))}

    def systems(self) -> dict[str, Any]:
        """Every system, the best first, and what a client must know of this server."""
        systems = [
            {name: getattr(engine.config, name) for name in SHOWN}
            | {"system": name, "folder": name.partition("@")[2], "engine": engine.kind, "score": engine.score}
            | {"examples": [] if self.options.keys else engine.examples}
            for name, engine in self.engines.items()
        ]
        return {"systems": systems, "characters": self.options.characters, "keys": bool(self.options.keys)}

    def languages(self) -> list[dict[str, Any]]:
        """Every language, and those that it can be translated into."""
        pairs = {engine.pair for engine in self.engines.values()}
        return [
            {"code": code, "name": name_of(code), "targets": sorted(to for source, to in pairs if source == code)}
            for code in sorted({code for pair in pairs for code in pair})
        ]


def by_name(engines: Sequence[Engine]) -> dict[str, Engine]:
    """Engines by the ids of their systems; where ids are equal, the names of their folders follow."""
    ids, names = [engine.config.system for engine in engines], dict[str, Engine]()
    for name, engine in zip(ids, engines, strict=True):
        folder = engine.folder.resolve()
        if ids.count(name) > 1:
            name += f"@{folder.parent.name if folder.name == name else folder.name}"
        while name in names:
            name += "+"
        names[name] = engine
    return names


def detection(request: Question, languages: Sequence[str]) -> dict[str, Any]:
    """The language of some texts among several, and the percentage of its probability."""
    language, probability = identify(" ".join(request.texts)[:SAMPLE], languages)
    return {"language": language, "confidence": round(100 * probability, 1)}


def answer(
    request: TranslationRequest, about: dict[str, Any], split: Sequence[SplitLine], ranks: Sequence[Ranks]
) -> dict[str, Any]:
    """The answer to a request, from those to all its parts; the n-th alternative of a text has the n-th of each."""
    rest, translations = iter(ranks), []
    for text in split:
        of_parts = [next(rest) for _ in text.parts]
        wordings = [[wording for wording, _ in rank] for rank in ranked(of_parts)]
        best, *others = dict.fromkeys(map(text.join, wordings))
        translations.append(
            {
                "translatedText": best,
                "alternatives": others,
                "confidence": fmean(confidence for (_, confidence), *_ in of_parts) if of_parts else None,
                "sentences": list(zip(text.parts, text.fitted(wordings[0]), strict=True)),
                **about,
            }
        )
    if not isinstance(request.q, list):
        return translations[0]
    names = translations[0] if translations else ["translatedText"]
    return {name: [translation[name] for translation in translations] for name in names}
