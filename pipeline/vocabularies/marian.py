"""Vocabularies of OPUS-MT's models: a SentencePiece model cuts each side, and ids are places in one list of pieces."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..common import files
from ..compute import ids
from .subwords import Pieces
from .words import SPECIAL

FILE = "marian.json"  # the pieces behind the special ones, and the tag
SPACE = "\u2581"  # as SentencePiece writes it


class MarianPieces:
    """One side; what is not in the list is unknown.

    `tag` is the piece in front of every source that tells a multilingual model what to write; "" for none.
    """

    whole_words = False

    def __init__(self, model: Any, pieces: Sequence[str], tag: str = "") -> None:
        self.model, self.pieces, self.size = model, pieces, len(pieces)
        self.ids = {piece: number for number, piece in enumerate(pieces) if number > ids.EOS}
        self.before = [self.ids[tag]] if tag else []
        own = [model.id_to_piece(number) for number in range(model.get_piece_size())]
        self.characters = frozenset("".join(filter(self.ids.__contains__, own)).replace(SPACE, " "))
        self.spells_all = any(model.is_byte(number) and piece in self.ids for number, piece in enumerate(own))

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, in one thread; of a source that is not empty with the tag."""
        cut = self.model.encode(list(lines), out_type=str, num_threads=1)
        return [[*self.before, *(self.ids.get(piece, ids.UNK) for piece in pieces)] if pieces else [] for pieces in cut]

    def decode(self, sentence: Sequence[int]) -> str:
        """The text of one sentence, on one line; special pieces and the tag give none."""
        pieces = [self.pieces[piece] for piece in sentence if piece > ids.EOS and piece not in self.before]
        text: str = self.model.decode(pieces) if pieces else ""
        return text.replace(SPACE, " ").replace("\n", " ").strip()

    def piece(self, piece: int) -> str:
        """The piece with this id."""
        return self.pieces[piece]

    def tag_id(self, tag: str) -> int | None:
        """The id of a tag's piece, such as >>fra<<; None if there is none."""
        return self.ids.get(tag) if tag.startswith(">>") else None


def load(folder: Path) -> tuple[MarianPieces, MarianPieces]:
    """Both sides of a vocabulary that `nmt import` wrote.

    Raises: DataError if a file of it is missing or broken.
    """
    source, target = (Pieces.load(folder / f"{side}.model").model for side in ("source", "target"))
    about = files.read_json(folder / FILE)
    pieces = [*SPECIAL, *about["pieces"]]
    return MarianPieces(source, pieces, about["tag"]), MarianPieces(target, pieces)
