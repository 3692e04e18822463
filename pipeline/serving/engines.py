"""What translates lines in a server: a packaged system with the library that runs its network."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..common.params import stored_section
from ..compute import ids
from ..decoding import texts
from ..decoding.settings import Decoding
from ..packaging import loading, package
from ..vocabularies.vocabulary import Vocabulary

Kind = Literal["torch", "ctranslate2", "ctranslate2-int8"]
Hypotheses = Sequence[tuple[list[int], float]]  # pieces and score, the best first


class Answer(NamedTuple):
    """A translation of one line."""

    text: str
    confidence: float  # the geometric mean of the probabilities of its pieces, EOS counted


class Engine(ABC):
    """A packaged system, but for its search."""

    kind: Kind

    def __init__(self, folder: Path, beam_size: int | None = None) -> None:
        self.folder, self.config = folder, package.read(folder)
        path, expected = folder / package.CONFIG, "what the stage `package` wrote"
        decoding = stored_section(Decoding, self.config.decoding, "decoding", path, expected)
        self.decoding = decoding.changed(beam_size=beam_size) if beam_size else decoding
        self.vocabulary = Vocabulary.load(folder / package.VOCABULARY)
        self.max_pieces = self.config.max_source_pieces
        self.score = self.config.validation.get("validation_bleu")  # what systems are ordered by
        card = folder / package.CARD
        self.card = card.read_text(encoding="utf-8") if card.exists() else ""

    @abstractmethod
    def search(self, sources: Sequence[list[int]], number: int) -> Sequence[Hypotheses]:
        """The `number` best translations of each source, the best first."""

    def split(self, units: Iterable[str]) -> texts.Text:
        """The parts of a text that its network translates, given its lines or sentences."""
        return texts.split(units, self.vocabulary, self.max_pieces)

    def translate(self, lines: Sequence[str], number: int) -> list[list[Answer]]:
        """The `number` best translations of each line, the best first, no more than the beam size."""
        sources = self.vocabulary.encode_source(lines)
        found = self.search(sources, min(number, self.decoding.beam_size))
        return [
            [self.answer(pieces, score, self.decoding.max_length(len(source))) for pieces, score in hypotheses]
            for source, hypotheses in zip(sources, found, strict=True)
        ]

    def answer(self, pieces: list[int], score: float, max_length: int) -> Answer:
        """A hypothesis as text; at the maximum length there is no EOS."""
        length = max(1, min(len(pieces) + 1, max_length))
        [text] = self.vocabulary.decode_target([pieces])
        return Answer(text, math.exp(score * self.decoding.penalty(length) / length))

    @cached_property
    def translator(self) -> Any:
        """The network in torch, loaded at first need, as seconds pass until torch is imported."""

        return loading.load(self.folder)

    def attention(self, line: str) -> dict[str, Any]:
        """What the network attends to while it writes the best translation of a line: pieces and weights."""
        [source] = self.vocabulary.encode_source([line])
        if not source:
            return {"source": [], "target": [], "text": "", "weights": {}}
        [[(pieces, _), *_]] = self.search([source], 1)
        output = [*pieces, ids.EOS] if len(pieces) < self.decoding.max_length(len(source)) else pieces
        record = self.translator.attention(0, source, output)
        return {name: record[name] for name in ("source", "target", "text", "weights")}


class TorchEngine(Engine):
    """Gives what `nmt translate` gives, to the byte, on a GPU if there is one."""

    kind: Kind = "torch"

    def search(self, sources: Sequence[list[int]], number: int) -> Sequence[Hypotheses]:
        """The `number` best translations of each source, by this project's own search."""
        found: Sequence[Hypotheses] = self.translator.search(sources, self.decoding, number)
        return found


def load(folder: Path, kind: Kind, threads: int, beam_size: int | None = None) -> Engine:
    """The engine of a packaged system, ready to translate; one without a form for CTranslate2 is run by torch.

    Raises: DataError if the folder is not whole.
    """
    if kind != "torch" and (folder / package.CTRANSLATE2).is_dir():
        from .ctranslate2_engine import CTranslate2Engine

        return CTranslate2Engine(folder, kind, threads, beam_size)
    engine = TorchEngine(folder, beam_size)
    engine.translator.search([], engine.decoding)
    return engine
