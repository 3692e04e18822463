"""A packaged system that translates lines in a server."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..decoding import attending, texts
from ..packaging import loading, package

EngineKind = Literal["torch", "ctranslate2", "ctranslate2-int8"]
Hypotheses = Sequence[tuple[list[int], float]]  # pieces and score, the best first


class Answer(NamedTuple):
    """A translation of one line."""

    text: str
    confidence: float  # the geometric mean of the probabilities of its pieces, EOS counted


class Engine:
    """A packaged system run by torch, on a GPU if there is one: gives what `nmt translate` gives, to the byte."""

    kind: EngineKind = "torch"

    def __init__(self, folder: Path, beam_size: int | None = None) -> None:
        self.config, self.translator = package.read(folder), loading.load(folder)
        self.vocabulary, self.max_pieces = self.translator.vocabulary, self.translator.max_pieces
        decoding = self.translator.decoding
        self.decoding = decoding.changed(beam_size=beam_size) if beam_size else decoding
        self.score = self.config.validation.get("validation_bleu")  # what systems are ordered by
        card = folder / package.CARD
        self.card = card.read_text(encoding="utf-8") if card.exists() else ""

    def search(self, sources: Sequence[list[int]], number: int) -> Sequence[Hypotheses]:
        """The `number` best translations of each source, the best first."""
        return self.translator.search(sources, self.decoding, number)

    def split(self, units: Iterable[str]) -> texts.SplitLine:
        """The parts of a text that its network translates, given its lines or sentences."""
        return texts.split(units, self.vocabulary, self.max_pieces)

    def translate(self, lines: Sequence[str], number: int) -> list[list[Answer]]:
        """The `number` best translations of each line, the best first, no more than the beam size."""
        sources = self.vocabulary.encode_source(lines)
        results = self.search(sources, min(number, self.decoding.beam_size))
        return [
            [self.answer(pieces, score, self.decoding.max_length(len(source))) for pieces, score in hypotheses]
            for source, hypotheses in zip(sources, results, strict=True)
        ]

    def answer(self, pieces: list[int], score: float, max_length: int) -> Answer:
        """A hypothesis as text; at the maximum length there is no EOS."""
        length = max(1, min(len(pieces) + 1, max_length))
        [text] = self.vocabulary.decode_target([pieces])
        return Answer(text, math.exp(score * self.decoding.penalty(length) / length))

    def attention(self, line: str) -> dict[str, Any]:
        """The attention of the network while it writes the best translation of a line: pieces and weights."""
        [source] = self.vocabulary.encode_source([line])
        if not source:
            return {"source": [], "target": [], "text": "", "weights": {}}
        [[(pieces, _), *_]] = self.search([source], 1)
        output = attending.written(pieces, self.decoding.max_length(len(source)))
        record = self.translator.attention(0, source, output)
        return {name: record[name] for name in ("source", "target", "text", "weights")}
