"""Vocabularies of any kind: text to ids of pieces, subwords or whole words, and back."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self, TypeAlias

from ..common import files
from ..common.normalisation import all_normalised
from ..common.params import Section
from ..compute import ids
from . import marian
from .equals import Equals
from .subwords import Pieces
from .words import WordList

Side: TypeAlias = Pieces | WordList | marian.MarianPieces  # one language of a vocabulary


class VocabularySection(Section):
    """The key of section `vocabularies.<name>` that chooses its class: Subwords, Words or Packaged."""

    kind: Literal["unigram", "bpe", "word", "package"]


def digest(folder: Path) -> str:
    """Hexadecimal SHA-256 of the vocabulary in `folder`."""
    return files.sha256(*sorted(path for path in folder.iterdir() if not path.name.startswith(".")))


class Vocabulary:
    """Text to ids of pieces and back; neither bos nor eos is added.

    All text is normalised here, as the text was from which the pieces were learnt: otherwise it would have other, even
    unknown pieces. Sources are also written with the characters that the vocabulary has, where they have an equal.
    Files are not changed: references are scored unnormalised.
    """

    def __init__(self, source: Side, target: Side, digest: str = "") -> None:
        self.source, self.target, self.digest = source, target, digest
        has_bytes = source.spells_all and not source.whole_words  # which write a rare name as it is
        self.source_equals = Equals(source.characters, may_lose=not has_bytes)
        self.target_equals = Equals(target.characters)
        self.whole_words = source.whole_words  # or subwords
        self.source_size, self.target_size = source.size, target.size

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The vocabulary that the stage vocabulary wrote into `folder`.

        Raises: DataError if a file of it is missing or broken.
        """
        if (folder / marian.FILE).exists():
            return cls(*marian.load(folder), digest(folder))
        if (folder / "joint.model").exists():
            joint = Pieces.load(folder / "joint.model")
            return cls(joint, joint, digest(folder))
        is_words = any(folder.glob("*.words.json"))
        load, ending = (WordList.load, "words.json") if is_words else (Pieces.load, "model")
        return cls(load(folder / f"source.{ending}"), load(folder / f"target.{ending}"), digest(folder))

    def unwritable(self, text: str) -> str:
        """The different characters of a source that no piece spells and that have no equal, in their order."""
        return "" if self.source.spells_all else self.source_equals.missing(text)

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each source line."""
        return self.source.encode(self.source_equals.all_written(lines))

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each target line; where bytes or an unknown word stand for a character, it needs no equal."""
        written = all_normalised if self.target.spells_all else self.target_equals.all_written
        return self.target.encode(written(lines))

    def decode_target(self, sentences: Iterable[Sequence[int]]) -> list[str]:
        """One line of text for each sentence of target ids; special pieces give no text."""
        return [self.target.decode(sentence) for sentence in sentences]

    def source_pieces(self, sentence: Sequence[int]) -> list[str]:
        """The source pieces with these ids."""
        return [self.source.piece(int(piece)) for piece in sentence]

    def target_pieces(self, sentence: Sequence[int]) -> list[str]:
        """The target pieces with these ids."""
        return [self.target.piece(int(piece)) for piece in sentence]

    def writable(self, targets: Sequence[str]) -> list[bool]:
        """Whether a translation can equal a target, white space aside, for each target."""
        written = self.decode_target(self.encode_target(targets))
        return [text.split() == target.split() for text, target in zip(written, targets, strict=True)]

    def known(self, sources: Sequence[str], targets: Sequence[str]) -> list[bool]:
        """Whether a pair has no unknown piece on either side, for each pair."""
        encoded = zip(self.encode_source(sources), self.encode_target(targets), strict=True)
        return [ids.UNK not in source and ids.UNK not in target for source, target in encoded]
