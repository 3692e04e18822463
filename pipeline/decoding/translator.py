"""A built system, ready to translate text: its network and its vocabulary."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch

from ..common import files
from ..common.params import Section, stored_section
from ..common.system import System
from ..compute import device, ids, weights
from ..console import progress
from ..console.printing import printable
from ..models import interface
from ..vocabularies.vocabulary import Vocabulary, digest
from . import attending, texts
from .ensemble import Ensemble
from .scores import Hypothesis
from .search import search
from .settings import Decoding


class Translation(NamedTuple):
    """A translation of a line."""

    text: str
    score: float  # of a line in several parts, the sum of their scores


@dataclass
class Translator:
    """Translates lines of text with one network, or with an ensemble that takes the place of one."""

    model: Any
    arch: Section
    vocabulary: Vocabulary
    max_pieces: int  # the longest source of its training, without EOS
    writes_unknown: bool  # whether a translation may hold unknown words, as with a vocabulary of whole words
    where: torch.device
    precision: str = "fp32"  # of its products
    vocabulary_digest: str = ""
    settings: Decoding | None = None  # of the search, unless it is told others

    @classmethod
    def built(cls, system: System) -> Self:
        """A system of this project as the stages built it: its averaged weights and its vocabulary.

        Raises: DataError if its files are missing or do not fit each other or this code.
        """
        folder, expected = system.vocabulary_folder, f"what `dvc repro {system.stage('average')}` builds"
        for path in (system.training_summary, folder):
            if not path.exists():
                raise files.DataError(f"{path}: no such file; expected {expected}")
        training = files.read_json(system.training_summary)
        params = training["params"]
        if digest(folder) != training["vocabulary"]:
            raise files.DataError(
                f"{folder}: not the vocabulary that {system.id} was trained with; expected {expected}"
            )
        return cls.assembled(
            system.model,
            params["arch"],
            vocabulary=folder,
            path=system.weights,
            precision=training["precision"],
            max_pieces=params["training"]["max_length"] - 1,
            origin=system.training_summary,
            expected=expected,
        )

    @classmethod
    def assembled(
        cls,
        model: str,
        arch: Any,
        *,
        vocabulary: Path,
        path: Path,
        precision: str,
        is_sealed: bool = False,
        max_pieces: int,
        origin: Path,
        expected: str,
    ) -> Self:
        """A model with the weights at `path`, and its vocabulary; `origin` is the file that holds `arch`.
        The checksums of a package seal the file of weights, which else has one of its own.

        What was trained in bf16 also translates in bf16, where the processor has instructions for it.

        Raises: DataError if they do not fit each other or this code.
        """
        if model not in interface.names():
            raise files.DataError(f"{origin}: unknown model, got {model!r}; expected {expected}")
        module, pieces = interface.find(model), Vocabulary.load(vocabulary)
        sizes = stored_section(module.Arch, arch, "arch", origin, expected)
        net = module.Model(sizes, source_size=pieces.source_size, target_size=pieces.target_size)
        weights.load(path, net, expected, is_sealed=is_sealed)
        where = device.prepared()
        if where.type != "cpu" or not device.has_bf16(where):  # a GPU translates in fp32
            precision = "fp32"
        if precision == "bf16":
            interface.prepack_in_bf16(net)
        net = net.to(where).eval()
        return cls(net, sizes, pieces, max_pieces, pieces.whole_words, where, precision, digest(vocabulary))

    @classmethod
    def ensemble(cls, members: Sequence[Self]) -> Self:
        """All of these as one that translates; it shows no attention.

        Raises: DataError if they do not share a vocabulary.
        """
        if len({member.vocabulary_digest for member in members}) > 1:
            raise files.DataError(
                "--system: an ensemble must share one vocabulary, got different ones; "
                "expected systems of the same corpus and vocabulary, trained on the same data"
            )
        model = Ensemble(member.model for member in members).eval()
        return replace(members[0], model=model, max_pieces=min(member.max_pieces for member in members))

    @property
    def decoding(self) -> Decoding:
        """The settings of the search; those of a packaged system are what its scores were made with."""
        assert self.settings, "a packaged system"
        return self.settings

    def read(self, line: str, where: str) -> list[int]:
        """The pieces of a line, only so many as the longest source of its training has, with a warning."""
        [pieces] = self.vocabulary.encode_source([line])
        if len(pieces) > self.max_pieces:
            what = f"longer than in training, got {len(pieces)} pieces; only the first {self.max_pieces} are shown"
            print(printable(f"warning: {where}: {what}"), file=sys.stderr)
        return pieces[: self.max_pieces]

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, number: int = 1, *, what: str = ""
    ) -> list[list[Hypothesis]]:
        """The `number` best translations of each source, the best first; of an empty source an empty one.

        `what` is the label of a progress bar.
        """
        results = [[Hypothesis([], 0.0)] for _ in sources]
        found = search(self.model, sources, decoding, self.where, number, unknown=self.writes_unknown)
        if what:
            found = progress.track(found, what, total=sum(map(bool, sources)), unit="sentences")
        for index, hypotheses in found:
            results[index] = hypotheses
        return results

    def ranked(
        self, lines: Sequence[str], decoding: Decoding, number: int = 1, *, what: str = ""
    ) -> list[list[Translation]]:
        """The `number` best translations of each line, the best first; one at least.

        A line longer than in training is translated in parts. What has no letter, and characters that no piece spells,
        come back as they are.
        """
        split = [texts.split([line], self.vocabulary, self.max_pieces) for line in lines]
        sources = self.vocabulary.encode_source([part for text in split for part in text.parts])
        found = iter(self.search(sources, decoding, number, what=what))
        results = []
        for text in split:
            answers = [next(found) for _ in text.parts]
            ranks = texts.ranked(answers, max(map(len, answers), default=1))
            translated = (text.join(self.vocabulary.decode_target([one.ids for one in rank])) for rank in ranks)
            scores = (sum(one.score for one in rank) for rank in ranks)
            results.append([Translation(*pair) for pair in zip(translated, scores, strict=True)])
        return results

    def translate(self, lines: Sequence[str], decoding: Decoding | None = None, *, what: str = "") -> list[str]:
        """The best translation of each line, as `nmt translate` writes it; by default with its own settings."""
        found = self.ranked(lines, decoding or self.decoding, what=what)
        return [best.text for best, *_ in found]

    def attention(self, line: int, source: Sequence[int], output: Sequence[int]) -> dict[str, Any]:
        """The attention of the network while it writes `output` (with EOS if it wrote it), as a record of `attend`."""
        return {
            "line": line,
            "source": self.vocabulary.source_pieces([*source, ids.EOS]),
            "target": self.vocabulary.target_pieces(output),
            "text": self.vocabulary.decode_target([output])[0],
            "weights": attending.weights(self.model, source, output, self.where),
        }
