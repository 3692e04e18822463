"""What translates lines in a server: an engine reads a packaged system and answers with texts and how sure it is."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

from pipeline import ids
from pipeline.decoding.settings import Decoding
from pipeline.files import DataError
from pipeline.packaging.package import Config
from pipeline.params import nearest
from pipeline.serving.answers import Answer
from pipeline.serving.glossary import Glossary
from pipeline.serving.long_lines import parts_that_fit
from pipeline.vocabularies.vocabulary import Vocabulary

Kind = Literal["torch", "ctranslate2", "ctranslate2-int8"]

logger = logging.getLogger(__name__)
MAX_TERM_PIECES = 24  # of the glossary in one part: with each the search has one beam more


class Engine(Protocol):
    """Translates lines with one system. No answer depends on what other lines are translated with it."""

    system: str
    source_language: str
    target_language: str

    def translate(self, lines: Sequence[str], number: int) -> list[list[Answer]]:
        """The `number` best translations of each line, the best first; never more than the beam size."""
        ...

    def attention(self, line: str) -> dict[str, Any]:
        """What the model attends to while it writes the best translation of a line.

        `source` and `target` are pieces, `text` is the translation, `weights` has for each name heads, rows (target
        pieces) and columns (source pieces), none for a model without attention. Of a line that is longer than in
        training it is the first part.
        """
        ...


class Found(NamedTuple):
    """A translation of one source as a search found it."""

    ids: list[int]  # without EOS
    log_p: float
    length: int  # in pieces, EOS counted if it was written


class Part(NamedTuple):
    """A line, or a part of one that is longer than in training, as a search reads it."""

    ids: list[int]
    terms: list[list[int]]  # of the glossary, in pieces, which its translation must hold


class LineEngine(ABC):
    """An engine but for its search: lines to pieces, and what was found to answers."""

    glossary: Glossary | None = None

    def __init__(
        self, config: Config, decoding: Decoding, vocabulary: Vocabulary, max_pieces: int, beam_size: int | None
    ) -> None:
        self.system = config.system
        self.source_language, self.target_language = config.source_language, config.target_language
        self.decoding = decoding if beam_size is None else decoding.changed(beam_size=beam_size)
        self.vocabulary, self.max_pieces = vocabulary, max_pieces

    @abstractmethod
    def search(self, sources: Sequence[Sequence[int]], number: int) -> list[list[Found]]:
        """The `number` best translations of each source, none of which is empty or longer than `max_pieces`."""

    @abstractmethod
    def constrained(self, part: Part, number: int) -> list[Found]:
        """The `number` best translations of a source that hold all its terms."""

    @abstractmethod
    def attention_of(self, source: Sequence[int], output: Sequence[int]) -> dict[str, Any]:
        """The attention while the model writes `output`, which ends with EOS if it was written."""

    def translate(self, lines: Sequence[str], number: int) -> list[list[Answer]]:
        """The `number` best translations of each line, the best first; never more than the beam size.

        A line longer than any in training is translated in parts; its n-th best translation has the n-th best of each.
        """
        read = [self.read(line) for line in lines]
        bounds = pairwise(accumulate(map(len, read), initial=0))
        found = self.found([part for parts in read for part in parts], min(number, self.decoding.beam_size))
        return [self.answers(found[begin:end]) for begin, end in bounds]

    def read(self, line: str) -> list[Part]:
        """A line as the search reads it, in as many parts as are needed to have none longer than in training."""
        [source] = self.vocabulary.encode_source([line])
        if len(source) <= self.max_pieces:
            return [self.part(line, source)]
        texts = parts_that_fit(line, self.fits, self.max_pieces)
        logger.warning(
            "%s: longer than in training, got %d pieces; translated in %d parts of at most %d",
            *(self.system, len(source), len(texts), self.max_pieces),
        )
        return [self.part(*part) for part in zip(texts, self.vocabulary.encode_source(texts), strict=True)]

    def part(self, text: str, source: list[int]) -> Part:
        """A part with the terms that are in it, the first ones: the search takes a beam for each of their pieces."""
        terms = self.glossary.match(text) if self.glossary else []
        sizes = accumulate(map(len, terms))
        kept = [term for term, size in zip(terms, sizes, strict=True) if size <= MAX_TERM_PIECES] or terms[:1]
        if len(kept) < len(terms):
            logger.warning("%s: %d terms of the glossary in one part, held to %d", self.system, len(terms), len(kept))
        return Part(source, kept)

    def fits(self, text: str) -> bool:
        """Whether a text is no longer than the longest source of training."""
        [source] = self.vocabulary.encode_source([text])
        return len(source) <= self.max_pieces

    def found(self, parts: Sequence[Part], number: int) -> list[list[Found]]:
        """The `number` best translations of each part, an empty one for an empty part."""
        free = [part.ids for part in parts if part.ids and not part.terms]
        found = iter(self.search(free, number) if free else [])
        return [
            self.constrained(part, number) if part.terms else next(found) if part.ids else [Found([], 0.0, 0)]
            for part in parts
        ]

    def answers(self, parts: Sequence[Sequence[Found]]) -> list[Answer]:
        """The translations of a line, given those of its parts."""
        return [self.answer(found) for found in zip(*parts, strict=False)]

    def answer(self, parts: Sequence[Found]) -> Answer:
        """One translation of a line."""
        text = " ".join(filter(None, self.vocabulary.decode_target([part.ids for part in parts])))
        log_p, length = sum(part.log_p for part in parts), sum(part.length for part in parts)
        return Answer(text, log_p / self.decoding.penalty(length), log_p / max(1, length))

    def attention(self, line: str) -> dict[str, Any]:
        """What the model attends to while it writes the best translation of a line, or of its first part."""
        part = self.read(line)[0]
        if not part.ids:
            return {"source": [], "target": [], "text": "", "weights": {}}
        [[best, *_]] = self.found([part], 1)
        output = [*best.ids, ids.EOS] if best.length > len(best.ids) else best.ids
        return self.attention_of(part.ids, output)


def load(
    folder: Path, kind: Kind, threads: int, glossary: Path | None = None, beam_size: int | None = None
) -> LineEngine:
    """The engine that translates with the packaged system in `folder` in so many threads, and with a glossary's terms.

    `beam_size` replaces the package's.

    Raises: DataError if the folder is not whole, has no form for this kind of engine, or cannot spell the glossary.
    """
    if kind not in get_args(Kind):
        raise DataError(f"engine: unknown, got {kind!r}{nearest(kind, get_args(Kind))}")
    engine: LineEngine
    if kind == "torch":
        from pipeline.serving.torch_engine import TorchEngine  # here, since torch takes seconds to import

        engine = TorchEngine(folder, threads, beam_size)
    else:
        from pipeline.serving.ctranslate2_engine import CTranslate2Engine

        engine = CTranslate2Engine(folder, "int8" if kind == "ctranslate2-int8" else "float32", threads, beam_size)
    engine.glossary = Glossary.load(glossary, engine.vocabulary) if glossary else None
    return engine
