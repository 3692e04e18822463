"""A built system, ready to translate text: its network, its vocabulary, the words that training saw."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import torch

from pipeline import device, files, ids, summaries, weights
from pipeline.decoding import attending
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.translate import Decoding, n_best, translate
from pipeline.models import interface
from pipeline.preparation.seen_words import SeenWords
from pipeline.system import System
from pipeline.vocabularies.vocabulary import Vocabulary, digest

SPACE = "▁"  # the piece that begins every line, even before an unknown word


class Source(NamedTuple):
    """A line as the network reads it, possibly cut."""

    ids: list[int]  # without EOS
    num_pieces: int  # of the whole line

    @property
    def is_cut(self) -> bool:
        """Whether only the beginning of the line is read."""
        return len(self.ids) < self.num_pieces

    def warning(self, where: str, done: str) -> str:
        """The warning for a cut line, of which only the beginning is `done` (translated, shown)."""
        got, first = f"got {self.num_pieces} pieces", f"only the first {len(self.ids)} are {done}"
        return f"warning: {where}: longer than in training, {got}; {first}"


class Translator:
    """Translates lines of text with one network; `max_pieces` (without EOS) is the longest source it was trained on."""

    def __init__(
        self, model: Any, vocabulary: Vocabulary, seen_words: SeenWords, *, max_pieces: int, where: torch.device
    ) -> None:
        self.model, self.vocabulary, self.seen_words = model, vocabulary, seen_words
        self.max_pieces, self.where = max_pieces, where

    @classmethod
    def load(cls, system: System) -> Self:
        """A built system: its trained network and its vocabulary.

        Raises: DataError if its files are missing or do not fit each other or this code.
        """
        training, folder = read_training(system), system.vocabulary_folder
        params, pieces = nested(training["params"]), Vocabulary.load(folder)
        if digest(folder) != training["vocabulary"]:
            raise files.DataError(
                f"{folder}: not the vocabulary that {system.id} was trained with; "
                f"expected what `dvc repro average@{system.id}` builds"
            )
        found = interface.find(system.model)
        if faults := list(found.Arch.faults(params["arch"], "arch", system.training_summary)):
            raise files.DataError(f"{'; '.join(faults)}; expected what `dvc repro average@{system.id}` builds")
        arch = found.Arch.model_validate(params["arch"])
        net = found.Model(arch, source_size=pieces.source_size, target_size=pieces.target_size)
        weights.load(net, system)
        where = device.prepared()
        longest = params["training"]["max_length"] - 1
        return cls(net.to(where).eval(), pieces, SeenWords.load(folder), max_pieces=longest, where=where)

    def read(self, lines: Sequence[str]) -> list[Source]:
        """The lines as the network reads them: cut to the longest source that it was trained on."""
        encoded = self.vocabulary.encode_source(lines)
        return [Source(pieces[: self.max_pieces], len(pieces)) for pieces in encoded]

    def knows(self, source: Source) -> bool:
        """Whether any piece of a line is known, apart from the space."""
        pieces = self.vocabulary.source_pieces(source.ids)
        return any(number != ids.UNK and piece != SPACE for number, piece in zip(source.ids, pieces, strict=True))

    def search(self, sources: Sequence[Source], decoding: Decoding, number: int = 1) -> list[list[Hypothesis]]:
        """The `number` best translations of each source, the best first."""
        pieces, unknown = [source.ids for source in sources], self.vocabulary.whole_words
        return n_best(self.model, pieces, decoding, self.where, number, unknown=unknown)

    def translate(self, lines: Sequence[str], decoding: Decoding, what: str, *, unknown: bool) -> list[str]:
        """The best translation of each line, read whole; with `unknown` it may hold unknown words.

        `what` is the label of the progress bar.
        """
        sources = self.vocabulary.encode_source(lines)
        return self.vocabulary.decode_target(
            translate(self.model, sources, decoding, self.where, what, unknown=unknown)
        )

    def text(self, pieces: Sequence[int]) -> str:
        """The line that target pieces spell."""
        [line] = self.vocabulary.decode_target([pieces])
        return line

    def likeliest(self, source: Source, max_length: int) -> list[int]:
        """The greedy translation of a source, with EOS if the network wrote it."""
        return attending.likeliest(self.model, source.ids, max_length, self.where)

    def attention(self, line: int, source: Source, output: Sequence[int]) -> dict[str, Any]:
        """The attention of the network while it writes `output` (with EOS if it wrote it), as a record of `attend`."""
        return {
            "line": line,
            "source": self.vocabulary.source_pieces([*source.ids, ids.EOS]),
            "target": self.vocabulary.target_pieces(output),
            "text": self.text(output),
            "weights": attending.weights(self.model, source.ids, output, self.where),
        }


def read_training(system: System) -> dict[str, Any]:
    """The summary of a system's training.

    Raises: DataError if it is missing or incomplete.
    """
    path = system.training_summary
    if not path.exists():
        raise files.DataError(f"{path}: no such file; expected what `dvc repro average@{system.id}` builds")
    return dict(summaries.read(path, summaries.TrainingForTranslator))


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `params.flatten`: {"a.b": 1} -> {"a": {"b": 1}}."""
    found: dict[str, Any] = {}
    for name, value in flat.items():
        *above, last = name.split(".")
        node = found
        for key in above:
            node = node.setdefault(key, {})
        node[last] = value
    return found
