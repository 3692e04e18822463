"""Subword vocabularies: SentencePiece models trained on the training part, the same bytes each time."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import sentencepiece
from pydantic import Field

from ..common import files, parts
from ..common.params import Section
from ..compute import ids
from ..console.progress import say, track
from . import samples
from .samples import Sample

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
        pieces = (self.piece(number) for number in range(ids.EOS + 1, self.size) if not self.model.is_control(number))
        return frozenset(" " if piece == RESERVED[0] else piece.translate(SHOWN) for piece in pieces if len(piece) == 1)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, in one thread: the stage encode has its processes."""
        text = "".join(lines)
        if any(character in text for character in RESERVED):
            lines = [hidden(line) for line in lines]
        return self.model.encode(list(lines), out_type=int, num_threads=1)

    def decode(self, sentence: Sequence[int]) -> str:
        """The text of one sentence, on one line: byte pieces may spell the end of one, which becomes a space."""
        pieces = [int(piece) for piece in sentence if piece > ids.EOS]
        text: str = self.model.decode(pieces) if pieces else ""
        return text.translate(SHOWN)

    def piece(self, piece: int) -> str:
        """The piece with this id."""
        name: str = self.model.id_to_piece(piece)
        return name

    def tag_id(self, tag: str) -> int | None:
        """The id of a tag's piece; None if there is none."""
        number = int(self.model.piece_to_id(tag))
        return number if number > ids.EOS and self.model.is_control(number) else None


def hidden(line: str) -> str:
    """`line` with the stand-ins of the reserved characters."""
    for character, stand_in in zip(RESERVED, STAND_INS, strict=True):
        line = line.replace(character, stand_in)
    return line


def train(subwords: Subwords, split: Path, tags: Mapping[str, str], folder: Path, where: str) -> None:
    """Train on the training part in `split`, and write models and vocabulary.json into `folder`.

    Each tag of a bitext is a piece. `where` is the section that errors name.

    Raises: DataError if the text is empty or holds a tag, or the size is too small for it.
    """
    covers_all = subwords.character_coverage == 1
    drawn = samples.read(split, subwords.sentences, subwords.seed, tags, has_others=covers_all)
    models = {"joint": samples.SIDES} if subwords.joint else {side: (side,) for side in samples.SIDES}
    for name, sides in models.items():
        text = f"{split / parts.TRAIN}{'' if subwords.joint else f', {name}'}"
        tags_of = drawn.tags if "source" in sides else []
        model = train_model(lines_of(drawn, sides, f"{name} vocabulary"), tags_of, subwords, where, text)
        with files.new_file(folder / f"{name}.model", "wb") as file:
            file.write(model)
    sizes = {f"{side}_size": Pieces.load(folder / f"{name}.model").size for name in models for side in models[name]}
    if min(sizes.values()) < subwords.size:
        say(where, f"the text has no more than {min(sizes.values()):,} pieces, fewer than {subwords.size:,}")
    record = {"kind": subwords.kind, "joint": subwords.joint, **sizes, "pairs": drawn.pairs}
    files.write_json(folder / "vocabulary.json", record)


def lines_of(drawn: Sample, sides: Sequence[str], what: str) -> Iterator[str]:
    """The lines of some sides, with progress called `what`, then the characters that stand only in other pairs."""
    lines = [line for side in sides for line in drawn.lines[side]]
    yield from track(lines, what, total=len(lines), unit="lines")
    others = set().union(*(drawn.others[side] for side in sides))
    if others:
        yield from sorted(others.difference(*lines))


def train_model(lines: Iterable[str], tags: list[str], subwords: Subwords, where: str, text: str) -> bytes:
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
            control_symbols=tags,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise refusal(error, subwords, where, text) or error from None
    return model.getvalue()


def refusal(error: RuntimeError, subwords: Subwords, where: str, text: str) -> files.DataError | None:
    """The error for a refusal of SentencePiece, with the cure; None if its cause is not known."""
    said = str(error)
    if "sentences_.empty()" in said or "(all_chars_count) > (0)" in said:
        return files.DataError(f"{text}: no text to train a vocabulary on; expected at least one line with words")
    if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", said):
        return files.DataError(
            f"{where}.size: {subwords.size} is less than the characters need (at least {least[1]} for {text}); "
            "expected a larger size, or a smaller character_coverage (0.98 at least)"
        )
    return None
