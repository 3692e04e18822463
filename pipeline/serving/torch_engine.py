"""The engine that gives, to the byte, what `nmt translate` gives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.translator import SourceLine, Translator
from pipeline.serving.engines import Found, LineEngine, Part
from pipeline.serving.glossary import continuing


class TorchEngine(LineEngine):
    """Translates with this project's own search, on a GPU if there is one."""

    def __init__(self, folder: Path, threads: int, beam_size: int | None) -> None:
        self.translator = translator = Translator.load(folder)
        super().__init__(
            translator.config, translator.decoding, translator.vocabulary, translator.max_pieces, beam_size
        )
        self.searcher = InvariantSearch(
            translator.network(self.decoding),
            self.decoding,
            translator.where,
            unknown=translator.vocabulary.whole_words,
            threads=threads,
        )
        self.continuing = list(continuing(self.vocabulary))

    def search(self, sources: Sequence[Sequence[int]], number: int) -> list[list[Found]]:
        """The `number` best translations of each source."""
        found = self.searcher.search(sources, number)
        return [
            [self.weighed(one, self.decoding.max_length(len(source))) for one in hypotheses]
            for source, hypotheses in zip(sources, found, strict=True)
        ]

    def constrained(self, part: Part, number: int) -> list[Found]:
        """The `number` best translations of a source that hold all its terms, and may be longer for them."""
        found = self.searcher.constrained(part.ids, part.terms, number, self.continuing)
        max_length = self.decoding.max_length(len(part.ids)) + sum(map(len, part.terms))
        return [self.weighed(one, max_length) for one in found]

    def weighed(self, hypothesis: Hypothesis, max_length: int) -> Found:
        """A hypothesis with its log P and its length, which has no EOS at the maximum."""
        length = min(len(hypothesis.ids) + 1, max_length)
        return Found(hypothesis.ids, hypothesis.score * self.decoding.penalty(length), length)

    def attention_of(self, source: Sequence[int], output: Sequence[int]) -> dict[str, Any]:
        """The attention while the model writes `output`."""
        record = self.translator.attention(0, SourceLine(list(source), len(source)), output)
        return {name: record[name] for name in ("source", "target", "text", "weights")}
