"""Subword vocabularies: SentencePiece models trained on the training part, the same bytes each time."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import sentencepiece
from pydantic import Field

from ..common import files
from ..common.params import Section
from ..common.seeding import sample
from ..compute import ids
from ..console.progress import say, track

# Unigram sums its estimates over threads, so their rounding, and with it the pieces, depends on the number of threads:
# it is fixed here, whatever the machine.
NUM_THREADS = 4
LONGEST_BYTES = 1 << 24  # SentencePiece's own limit of 4,192 would skip longer lines without a word
# SentencePiece writes a space and an unknown character as these, and skips or alters lines that hold them; in a model
# two noncharacters stand for them, which `normalised` takes out of every text.
RESERVED, STAND_INS = "\u2581\u2585", "\ufdd0\ufdd1"
SHOWN = str.maketrans(f"\n\r{STAND_INS}", f"  {RESERVED}")
# Text that SentencePiece takes for a special piece while it learns, so that < and > would stay unknown.
SPECIAL = re.compile("<(?=(?:pad|unk|/?s|0x[0-9A-F]{2})>)")


class Subwords(Section):
    """Section `vocabularies.<name>`: a SentencePiece model, or one for each side."""

    kind: Literal["unigram", "bpe"]
    size: Annotated[int, Field(ge=16, le=1_000_000)]  # pieces, with the four special ones; of each side if not joint
    joint: bool  # one vocabulary for both languages
    byte_fallback: bool  # spell an unknown character in its UTF-8 bytes, which are 256 of the pieces
    split_digits: bool  # each digit is a piece of its own, so that numbers never seen are written too
    character_coverage: Annotated[float, Field(ge=0.98, le=1)]  # share of the characters' occurrences that get a piece
    sentences: Annotated[int, Field(ge=1)]  # most pairs to train on; a seeded sample if there are more
    seed: Annotated[int, Field(ge=0)]


class Pieces:
    """One side of a vocabulary, in the pieces of a SentencePiece model."""

    whole_words = False

    def __init__(self, model: Any) -> None:
        self.model = model
        self.size: int = model.get_piece_size()
        self.spells_all = any(map(model.is_byte, range(self.size)))

    @classmethod
    def load(cls, path: Path) -> Self:
        """The pieces of a model that `train` wrote.

        Raises: DataError if the file is missing or holds no model.
        """
        try:
            data = path.read_bytes() or b"none"  # it takes no bytes for no model
            return cls(sentencepiece.SentencePieceProcessor(model_proto=data))
        except FileNotFoundError:
            raise files.DataError(f"{path}: no such file; expected a vocabulary of the stage vocabulary") from None
        except RuntimeError:
            raise files.DataError(f"{path}: not a SentencePiece model; expected one of the stage vocabulary") from None

    @cached_property
    def characters(self) -> frozenset[str]:
        """The characters that have a piece; if `spells_all`, bytes spell the others."""
        pieces = map(self.piece, range(ids.EOS + 1, self.size))
        return frozenset(" " if piece == RESERVED[0] else piece.translate(SHOWN) for piece in pieces if len(piece) == 1)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, in one thread: the stage encode has its processes."""
        return self.model.encode([hidden(line) for line in lines], out_type=int, num_threads=1)

    def decode(self, sentence: Sequence[int]) -> str:
        """The text of one sentence, on one line: byte pieces may spell the end of one, which becomes a space."""
        pieces = [int(piece) for piece in sentence if piece > ids.EOS]
        text: str = self.model.decode(pieces) if pieces else ""
        return text.translate(SHOWN)

    def piece(self, piece: int) -> str:
        """The piece with this id."""
        name: str = self.model.id_to_piece(piece)
        return name


def hidden(line: str) -> str:
    """`line` with the stand-ins of the reserved characters."""
    for character, stand_in in zip(RESERVED, STAND_INS, strict=True):
        line = line.replace(character, stand_in)
    return line


def train(subwords: Subwords, source: Path, target: Path, folder: Path, where: str) -> None:
    """Train on the parallel lines of `source` and `target`, and write models and vocabulary.json into `folder`.

    `where` is the section that errors name.

    Raises: DataError if the files are not parallel or hold no text, or the size is too small for them.
    """
    num_pairs = sum(1 for _ in files.read_pairs(source, target))
    chosen = sample(num_pairs, subwords.sentences, subwords.seed)
    sides = {"joint": (source, target)} if subwords.joint else {"source": (source,), "target": (target,)}
    for side, paths in sides.items():
        lines, total = read(paths, chosen), int(chosen.sum()) * len(paths)
        if subwords.character_coverage == 1:
            lines = chain(lines, missing(paths, chosen))
        model = train_model(track(lines, f"{side} vocabulary", total=total, unit="lines"), subwords, where, paths)
        with files.new_file(folder / f"{side}.model", "wb") as file:
            file.write(model)
    models = dict.fromkeys(("source", "target"), "joint") if subwords.joint else {side: side for side in sides}
    sizes = {f"{side}_size": Pieces.load(folder / f"{model}.model").size for side, model in models.items()}
    if min(sizes.values()) < subwords.size:
        say(where, f"the text has no more than {min(sizes.values()):,} pieces, fewer than {subwords.size:,}")
    record = {"kind": subwords.kind, "joint": subwords.joint, **sizes, "pairs": int(chosen.sum())}
    files.write_json(folder / "vocabulary.json", record)


def read(paths: Iterable[Path], chosen: np.ndarray) -> Iterator[str]:
    """The chosen lines of each file."""
    return chain.from_iterable(compress(files.read_lines(path), chosen) for path in paths)


def missing(paths: Iterable[Path], chosen: np.ndarray) -> list[str]:
    """The characters that stand only in lines that are not chosen."""
    others = set(chain.from_iterable(read(paths, ~chosen)))
    return sorted(others.difference(*read(paths, chosen))) if others else []


def train_model(lines: Iterable[str], subwords: Subwords, where: str, paths: tuple[Path, ...]) -> bytes:
    """The bytes of a SentencePiece model; lines and model pass through memory, so that it contains no path.

    Text is not rewritten (`identity`): `nmt_nfkc` would replace characters such as … and ½, which references keep.

    Raises: DataError if the lines hold no text or the size is too small for them.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(SPECIAL.sub("< ", hidden(line)) for line in lines),
            model_writer=model,
            model_type=subwords.kind,
            vocab_size=subwords.size,
            hard_vocab_limit=False,  # fewer pieces where the text has no more
            byte_fallback=subwords.byte_fallback,
            split_digits=subwords.split_digits,
            character_coverage=subwords.character_coverage,
            normalization_rule_name="identity",
            max_sentence_length=LONGEST_BYTES,
            num_threads=NUM_THREADS,
            pad_id=ids.PAD,
            unk_id=ids.UNK,
            bos_id=ids.BOS,
            eos_id=ids.EOS,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise refusal(error, subwords, where, paths) or error from None
    return model.getvalue()


def refusal(error: RuntimeError, subwords: Subwords, where: str, paths: tuple[Path, ...]) -> files.DataError | None:
    """The error for a refusal of SentencePiece, with the cure; None if its cause is not known."""
    text, names = str(error), " and ".join(map(str, paths))
    if "sentences_.empty()" in text or "(all_chars_count) > (0)" in text:
        return files.DataError(f"{names}: no text to train a vocabulary on; expected at least one line with words")
    if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", text):
        return files.DataError(
            f"{where}.size: {subwords.size} is less than the characters need (at least {least[1]} for {names}); "
            "expected a larger size, or a smaller character_coverage (0.98 at least)"
        )
    return None
