"""The engine that gives, to the byte, what `nmt translate` gives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.decoding.beam import Hypothesis
from pipeline.decoding.translator import SourceLine, Translator
from pipeline.serving.engines import Found, LineEngine, Part


class TorchEngine(LineEngine):
    """Translates with this project's own search, on a GPU if there is one."""

    def __init__(self, folder: Path, threads: int, beam_size: int | None) -> None:
        self.translator = translator = Translator.load(folder)
        assert translator.config
        super().__init__(
            translator.config, translator.decoding, translator.vocabulary, translator.max_pieces, beam_size
        )

    def search(self, sources: Sequence[Sequence[int]], number: int) -> list[list[Found]]:
        """The `number` best translations of each source."""
        lines = [SourceLine(list(source), len(source)) for source in sources]
        return [
            [self.weighed(one, self.decoding.max_length(len(source))) for one in hypotheses]
            for source, hypotheses in zip(sources, self.translator.search(lines, self.decoding, number), strict=True)
        ]

    def constrained(self, part: Part, number: int) -> list[Found]:
        """The `number` best translations of a source; the search no longer knows terms that they must hold."""
        return self.search([part.ids], number)[0]

    def weighed(self, hypothesis: Hypothesis, max_length: int) -> Found:
        """A hypothesis with its log P and its length, which has no EOS at the maximum."""
        length = min(len(hypothesis.ids) + 1, max_length)
        return Found(hypothesis.ids, hypothesis.score * self.decoding.penalty(length), length)

    def attention_of(self, source: Sequence[int], output: Sequence[int]) -> dict[str, Any]:
        """The attention while the model writes `output`."""
        record = self.translator.attention(0, SourceLine(list(source), len(source)), output)
        return {name: record[name] for name in ("source", "target", "text", "weights")}
