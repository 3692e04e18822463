"""A built system, ready to translate text: its network, its vocabulary, the words that training saw."""

import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch

from pipeline import device, files, ids, summaries, weights
from pipeline.decoding import attending, sampling
from pipeline.decoding.ensemble import Ensemble
from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.memory import Pairs, WithMemory
from pipeline.decoding.search import Hypothesis
from pipeline.decoding.side_by_side import MAX_SEARCHES
from pipeline.decoding.translate import Decoding, translate
from pipeline.encoding.shards import Encoded
from pipeline.models import interface
from pipeline.packaging import package
from pipeline.packaging.package import Config
from pipeline.params import Section
from pipeline.preparation.seen_words import SeenWords
from pipeline.summaries import Precision
from pipeline.system import System
from pipeline.vocabularies.vocabulary import Vocabulary, digest

SPACE = "▁"  # the piece that begins every line, even before an unknown word
# A search takes all threads, and for that time changes torch's number of threads, which is that of the process.
ONE_SEARCH = threading.Lock()


class SourceLine(NamedTuple):
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
    """Translates lines of text with one network, or with an ensemble that takes the place of one.

    `max_pieces` (without EOS) is the longest source that it was trained on.
    """

    config: Config  # of a packaged system, and so are the settings of the search
    decoding: Decoding
    precision: Precision  # of its products
    vocabulary_digest: str  # of what was loaded from files
    training_pairs: Path  # that a memory uses; a folder that need not be there
    members: Sequence["Translator"] = ()  # of an ensemble
    pairs: Pairs | None = None  # opened at first use
    mixed_pairs: Pairs | None = None  # the same, for batches that mix lengths: their products may round otherwise

    def __init__(
        self,
        model: Any,
        arch: Section,
        vocabulary: Vocabulary,
        seen_words: SeenWords,
        *,
        max_pieces: int,
        where: torch.device,
    ) -> None:
        self.model, self.arch, self.vocabulary, self.seen_words = model, arch, vocabulary, seen_words
        self.max_pieces, self.where = max_pieces, where

    @classmethod
    def load(cls, folder: Path) -> Self:
        """A packaged system, `models/<system>/` or a copy of it anywhere, with its `config` and its `decoding`.

        Raises: DataError if a file is missing or changed, or if this code does not know such a model.
        """
        config, path = package.read(folder), folder / package.CONFIG
        expected = "a model of this version of nmt-pipeline"
        decoding = package.section(Decoding, config.decoding, "decoding", path, expected)
        found = cls.assembled(
            config.model,
            config.arch,
            vocabulary=folder / package.VOCABULARY,
            path=folder / package.WEIGHTS,
            precision=config.precision,
            max_pieces=config.max_source_pieces,
            training_pairs=folder / package.MEMORY,
            origin=path,
            expected=expected,
        )
        found.config, found.decoding = config, decoding
        return found

    @classmethod
    def built(cls, system: System) -> Self:
        """A system of this project as the stages built it: its averaged weights and its vocabulary.

        Raises: DataError if its files are missing or do not fit each other or this code.
        """
        training, folder = read_training(system), system.vocabulary_folder
        params, expected = nested(training["params"]), f"what `dvc repro {system.stage('average')}` builds"
        if not folder.is_dir():
            raise files.DataError(f"{folder}: no such folder; expected {expected}")
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
            training_pairs=system.encoded / "train",
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
        precision: Precision,
        max_pieces: int,
        training_pairs: Path,
        origin: Path,
        expected: str,
    ) -> Self:
        """A model with the weights at `path`, and its vocabulary; `origin` is the file that holds `arch`.

        What was trained in bf16 also translates in bf16, where the processor has instructions for it.

        Raises: DataError if they do not fit each other or this code.
        """
        try:
            found = interface.find(model)
            known = hasattr(found, "Arch")
        except ModuleNotFoundError:
            known = False
        if not known:
            raise files.DataError(f"{origin}: unknown model, got {model!r}; expected {expected}")
        sizes = package.section(found.Arch, arch, "arch", origin, expected)
        pieces = Vocabulary.load(vocabulary)
        build = partial(found.Model, sizes, source_size=pieces.source_size, target_size=pieces.target_size)
        with weights.shapes_alone():  # a hostile package may ask for any size
            shapes = build()
        read = weights.read(path, shapes, expected)
        net = build()
        net.load_state_dict(read)
        where, words = device.prepared(), SeenWords.load(vocabulary)
        if where.type != "cpu" or not device.has_bf16(where):  # a GPU translates in fp32
            precision = "fp32"
        if precision == "bf16":
            interface.prepack_in_bf16(net)
        translator = cls(net.to(where).eval(), sizes, pieces, words, max_pieces=max_pieces, where=where)
        translator.precision = precision
        translator.vocabulary_digest, translator.training_pairs = digest(vocabulary), training_pairs
        return translator

    @classmethod
    def ensemble(cls, members: Sequence[Self]) -> Self:
        """All of these, which share a vocabulary, as one that translates; it has the settings of the first.

        It shows no attention.
        """
        found = copy.copy(members[0])
        found.model, found.members = Ensemble(member.model for member in members).eval(), members
        found.max_pieces = min(member.max_pieces for member in members)
        return found

    def best(self, lines: Sequence[str]) -> list[str]:
        """The best translation of each line, by the packaged settings; `nmt translate --model` writes the same."""
        found = self.search(self.read(lines), self.decoding)
        return [self.text(hypotheses[0].ids) for hypotheses in found]

    def read(self, lines: Sequence[str]) -> list[SourceLine]:
        """The lines as the network reads them: cut to the longest source that it was trained on."""
        encoded = self.vocabulary.encode_source(lines)
        return [SourceLine(pieces[: self.max_pieces], len(pieces)) for pieces in encoded]

    def knows(self, source: SourceLine) -> bool:
        """Whether any piece of a line is known, apart from the space."""
        pieces = self.vocabulary.source_pieces(source.ids)
        return any(number != ids.UNK and piece != SPACE for number, piece in zip(source.ids, pieces, strict=True))

    def search(self, sources: Sequence[SourceLine], decoding: Decoding, number: int = 1) -> list[list[Hypothesis]]:
        """The `number` best translations of each source, the best first; the same whatever the other sources are."""
        with self.searcher(decoding) as searcher:
            return searcher.search([source.ids for source in sources], number)

    def sample(
        self,
        sources: Sequence[SourceLine],
        decoding: Decoding,
        number: int,
        *,
        seed: int,
        temperature: float,
        first: int,
    ) -> list[list[Hypothesis]]:
        """`number` random translations of each source, in the order in which they are drawn, with their scores.

        The k-th of a source depends on it, on `seed` and on its line number alone; `first` is that of the first source.
        """
        repeated = [source.ids for source in sources for _ in range(number)]
        uniform = [
            sampling.draws(seed, line, k, decoding.max_length(len(source.ids)))
            for line, source in enumerate(sources, first)
            for k in range(number)
        ]
        with self.searcher(decoding) as searcher:
            found = searcher.sample(repeated, uniform, temperature)
        return [found[begin : begin + number] for begin in range(0, len(found), number)]

    def diverse(
        self, sources: Sequence[SourceLine], decoding: Decoding, number: int, *, strength: float
    ) -> list[list[Hypothesis]]:
        """`number` diverse translations of each source, the best first; the same whatever the other sources are."""
        with self.searcher(decoding) as searcher:
            return searcher.diverse([source.ids for source in sources], number, strength)

    def network(self, decoding: Decoding, *, mixed: bool = False) -> Any:
        """The network that searches by these settings: with a memory of training pairs, if they ask for one.

        `mixed`: for batches that mix lengths, whose results depend on the batch, in their last bits.

        Raises: DataError if there are no training pairs, or broken ones.
        """
        if not decoding.memory_pairs:
            return self.model
        if self.members:
            return Ensemble(member.network(decoding, mixed=mixed) for member in self.members).eval()
        if self.pairs is None or self.mixed_pairs is None:
            self.pairs = self.open_pairs()
            self.mixed_pairs = self.pairs.without_cache()
        pairs = self.mixed_pairs if mixed else self.pairs
        return WithMemory(self.model, pairs, decoding, self.vocabulary.target_size).eval()

    def open_pairs(self) -> Pairs:
        """The training pairs, for a memory.

        Raises: DataError if there are none, or broken ones.
        """
        folder, sizes = self.training_pairs, (self.vocabulary.source_size, self.vocabulary.target_size)
        if not folder.is_dir():
            expected = "`memory_pairs` 0, or a system that was packaged with more"
            raise files.DataError(f"{folder}: no training pairs to remember; expected {expected}")
        pairs = Pairs(Encoded.open(folder, *sizes), sizes[0], self.max_pieces)
        if not pairs.order:
            raise files.DataError(f"{folder}: no pair of 1 to {self.max_pieces} pieces; expected the training pairs")
        return pairs

    @contextmanager
    def searcher(self, decoding: Decoding) -> Iterator[InvariantSearch]:
        """A search in which no source changes what another gives, on all threads, up to `MAX_SEARCHES`."""
        unknown = self.vocabulary.whole_words
        with ONE_SEARCH:
            network, threads = self.network(decoding), min(torch.get_num_threads(), MAX_SEARCHES)
            with InvariantSearch(network, decoding, self.where, unknown=unknown, threads=threads) as found:
                yield found

    def translate(self, lines: Sequence[str], decoding: Decoding, what: str, *, unknown: bool) -> list[str]:
        """The best translation of each line, read whole; with `unknown` it may hold unknown words.

        `what` is the label of the progress bar.
        """
        sources = self.vocabulary.encode_source(lines)
        with ONE_SEARCH:
            network = self.network(decoding, mixed=True)
            found = translate(network, sources, decoding, self.where, what, unknown=unknown)
        return self.vocabulary.decode_target(found)

    def text(self, pieces: Sequence[int]) -> str:
        """The line that target pieces spell."""
        [line] = self.vocabulary.decode_target([pieces])
        return line

    def likeliest(self, source: SourceLine, max_length: int) -> list[int]:
        """The greedy translation of a source, with EOS if the network wrote it."""
        return attending.likeliest(self.model, source.ids, max_length, self.where)

    def attention(self, line: int, source: SourceLine, output: Sequence[int]) -> dict[str, Any]:
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
        raise files.DataError(f"{path}: no such file; expected what `dvc repro {system.stage('average')}` builds")
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
