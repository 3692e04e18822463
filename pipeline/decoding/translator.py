"""A built system, ready to translate text: its network and its vocabulary."""

import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from ..common import files
from ..common.params import stored_section
from ..common.system import System
from ..compute import device, ids, weights
from ..console import progress
from ..console.printing import printable
from ..models import interface
from ..vocabularies.vocabulary import Vocabulary
from . import attending, markup, texts
from .ensemble import Ensemble
from .glossary import Glossary
from .sampling import Sampling
from .scores import Hypothesis
from .search import search
from .settings import Decoding


@dataclass
class Translator:
    """Translates lines of text with one network, or with an ensemble that takes the place of one."""

    model: Any
    vocabulary: Vocabulary
    max_pieces: int  # the longest source of its training, without EOS
    precision: str = "fp32"  # of the products of its training, then of those here
    settings: Decoding | None = None  # of the search, unless a call gives others
    writes_unknown: bool = True  # whether a translation in whole words may hold unknown ones
    glossary: Glossary | None = None
    sampling: Sampling | None = None  # in place of a beam search

    def __post_init__(self) -> None:
        """Put the network on the best device: there in bf16 only if a CPU has instructions for it."""
        self.where = device.prepared()
        if self.where.type != "cpu" or not device.has_bf16(self.where):
            self.precision = "fp32"
        if self.precision == "bf16":
            interface.prepack_in_bf16(self.model)
        self.model = self.model.to(self.where).eval()

    @classmethod
    def built(cls, system: System, settings: Decoding | None = None) -> Self:
        """A system of this project as the stages built it: its averaged weights and its vocabulary.

        Raises: DataError if its files are missing or do not fit each other or this code.
        """
        path, folder = system.training_summary, system.vocabulary_folder
        expected = f"what `dvc repro {system.stage('average')}` builds"
        for needed in (path, folder):
            if not needed.exists():
                raise files.DataError(f"{needed}: no such file; expected {expected}")
        training, vocabulary = files.read_json(path), Vocabulary.load(folder)
        params = training["params"]
        if vocabulary.digest != training["vocabulary"]:
            what = f"not the vocabulary that {system.id} was trained with"
            raise files.DataError(f"{folder}: {what}; expected {expected}")
        arch = params.get("arch", {})
        net = network(system.model, arch, vocabulary, system.weights, origin=path, expected=expected)
        return cls(net, vocabulary, params["training"]["max_length"] - 1, training["precision"], settings)

    @classmethod
    def ensemble(cls, members: Sequence[Self]) -> Self:
        """All of these as one that translates; the attention it shows is that of its first member that has some.

        Raises: DataError if they do not share a vocabulary.
        """
        if len({member.vocabulary.digest for member in members}) > 1:
            raise files.DataError(
                "--system: an ensemble must share one vocabulary, got different ones; "
                "expected systems of the same corpus and vocabulary, trained on the same data"
            )
        model = Ensemble(member.model for member in members)
        longest = min(member.max_pieces for member in members)
        return replace(members[0], model=model, max_pieces=longest, precision="fp32")  # each is in its own already

    @property
    def decoding(self) -> Decoding:
        """The settings of the search; those of a packaged system are what its scores were made with."""
        assert self.settings, "a packaged system"
        return self.settings

    def translate(self, lines: Sequence[str], decoding: Decoding | None = None, *, what: str = "") -> list[str]:
        """The best translation of each line, as `nmt translate` writes it; by default with its own settings."""
        return [best[0] for best, *_ in self.ranked(lines, decoding or self.decoding, what=what)]

    def ranked(
        self, lines: Sequence[str], decoding: Decoding, number: int = 1, *, what: str = ""
    ) -> list[list[tuple[str, float, float | None]]]:
        """The `number` best translations of each line, the best first; one at least.

        Each has its score and the mean probability of its pieces, or None of a line without a letter.

        A line longer than in training is translated in parts, whose scores are added. What has no letter comes back as
        it is, and so do tags, placeholders and characters that no piece spells, where the attention places them.
        """
        split = [texts.split([line], self.vocabulary, self.max_pieces) for line in lines]
        parts = [markup.separate(part, self.vocabulary, self.glossary) for line in split for part in line.parts]
        sources = self.vocabulary.encode_source([plain for plain, _ in parts])
        results, found = [], zip(parts, sources, self.search(sources, decoding, number, what=what), strict=True)
        for line in split:
            answers = [
                [(self.text(best.ids, *part, source, decoding), best) for best in hypotheses]
                for part, source, hypotheses in islice(found, len(line.parts))
            ]
            ranks = texts.ranked(answers)
            translations = [line.join([text for text, _ in rank]) for rank in ranks]
            scores = [sum(best.score for _, best in rank) for rank in ranks]
            probabilities = [mean_probability([best for _, best in rank], decoding) for rank in ranks]
            results.append(list(zip(translations, scores, probabilities, strict=True)))
        return results

    def text(
        self, pieces: list[int], plain: str, marks: Sequence[markup.Mark], source: list[int], decoding: Decoding
    ) -> str:
        """A translation with the marks of its source, and with the terms of the glossary."""
        [text] = self.vocabulary.decode_target([pieces])
        if not marks:
            return text
        terms, output = markup.terms(marks), attending.written(pieces, decoding.max_length(len(source)))
        heads = attending.of_source(attending.weights(self.model, source, output, self.where))
        if not text or (heads is None and not terms):
            return markup.restore(text, marks, None)
        if terms == marks and plain[terms[0].begin : terms[0].end] == plain:
            return terms[0].opening
        heads = np.ones((len(output), len(source) + 1)) if heads is None else heads
        source_ends, target_ends = (
            [len(side.decode(sentence[: end + 1])) for end in range(len(sentence))]
            for side, sentence in ((self.vocabulary.source, source), (self.vocabulary.target, pieces))
        )
        for term in terms:
            begin, end = bisect_right(source_ends, term.begin), bisect_left(source_ends, term.end) + 1
            gap = slice(begin, end if end < len(source) else None)  # EOS belongs to the last piece
            heads[:, gap] *= attending.reliance(self.model, source, output, gap, self.where)[:, None]
        return markup.restore(text, marks, markup.aligned(text, heads, source_ends, target_ends))

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, number: int = 1, *, what: str = ""
    ) -> list[list[Hypothesis]]:
        """The `number` best translations of each source, the best first; of an empty source an empty one.

        `what` is the label of a progress bar.
        """
        results, unknown = [[Hypothesis([], 0.0)] for _ in sources], self.vocabulary.whole_words and self.writes_unknown
        finished = search(self.model, sources, decoding, self.where, number, unknown=unknown, sampling=self.sampling)
        if what:
            finished = progress.track(finished, what, total=sum(map(bool, sources)), unit="sentences")
        for index, hypotheses in finished:
            results[index] = hypotheses
        return results

    def read(self, line: str, where: str) -> list[int]:
        """The pieces of a line, only so many as the longest source of its training has, with a warning."""
        [pieces] = self.vocabulary.encode_source([markup.separate(line, self.vocabulary)[0]])
        if len(pieces) > self.max_pieces:
            what = f"longer than in training, got {len(pieces)} pieces; only the first {self.max_pieces} are shown"
            print(printable(f"warning: {where}: {what}"), file=sys.stderr)
        return pieces[: self.max_pieces]

    def attention(self, line: int, source: Sequence[int], output: Sequence[int]) -> dict[str, Any]:
        """The attention of the network while it writes `output` (with EOS if it wrote it), as a record of `attend`."""
        return {
            "line": line,
            "source": self.vocabulary.source_pieces([*source, ids.EOS]),
            "target": self.vocabulary.target_pieces(output),
            "text": self.vocabulary.decode_target([output])[0],
            "weights": attending.weights(self.model, source, output, self.where),
        }


def mean_probability(parts: Sequence[Hypothesis], decoding: Decoding) -> float | None:
    """The geometric mean of the probabilities of all pieces of some hypotheses, EOS counted; None of none."""
    lengths = [len(best.ids) + 1 for best in parts]
    log_p = sum(best.score * decoding.penalty(length) for best, length in zip(parts, lengths, strict=True))
    return math.exp(log_p / sum(lengths)) if parts else None


class Undrawn(TorchFunctionMode):
    """Draws no weights, and counts on the CPU: on the device `meta`, torch loads for seconds before it does either."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The tensor as it is in place of one with drawn values."""
        if func is torch.Tensor.normal_ or getattr(func, "__module__", "") == nn.init.__name__:
            return [*args, *(kwargs or {}).values()][0]
        return func(*args, **(kwargs or {}) | ({"device": "cpu"} if func is torch.arange else {}))


def network(
    name: str, arch: Any, vocabulary: Vocabulary, path: Path, *, origin: Path, expected: str, is_sealed: bool = False
) -> nn.Module:
    """The model called `name` with the weights at `path`, for a vocabulary; the file `origin` holds its sizes, `arch`.

    Raises: DataError if this code knows no such model, or not with these sizes or weights.
    """
    if name not in interface.names():
        raise files.DataError(f"{origin}: unknown model, got {name!r}; expected {expected}")
    module = interface.find(name)
    sizes = stored_section(module.Arch, arch, "arch", origin, expected)
    build = partial(module.Model, sizes, source_size=vocabulary.source_size, target_size=vocabulary.target_size)
    tensors, _ = weights.read(path, expected, is_sealed=is_sealed)
    try:
        with torch.device("meta"), Undrawn():  # sizes are compared before they take memory
            stated = build().state_dict()
    except ValueError as error:
        raise files.DataError(f"{origin}: {error}") from None
    if fault := weights.misfit(tensors, stated):
        raise files.DataError(f"{path}: {fault}; expected {expected}")
    net: nn.Module = build()
    net.load_state_dict(tensors)
    return net
