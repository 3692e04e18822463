"""The vocabulary of a package, for a corpus that starts from it: it must spell the corpus's text."""

from collections import Counter
from pathlib import Path
from typing import Literal

from ..common import files, parts
from ..common.params import Section
from ..compute import ids
from ..console.progress import say
from ..vocabularies.equals import listed
from ..vocabularies.vocabulary import Vocabulary

MOST_UNKNOWN = 0.01  # of the pieces of a side: with more, the vocabulary is one of another script or text


class Packaged(Section):
    """Section `vocabularies.<name>`: the vocabulary of the package that the corpus starts from."""

    kind: Literal["package"]


def check_spelling(vocabulary: Vocabulary, split: Path, origin: Path) -> None:
    """Check that a vocabulary has pieces for nearly all of the training part in `split`; say which it lacks.

    Raises: DataError if it does not.
    """
    sides = (vocabulary.encode_source, vocabulary.source_equals), (vocabulary.encode_target, vocabulary.target_equals)
    texts = zip(*parts.read(split, parts.TRAIN), strict=True)
    for side, lines, (encode, equals) in zip(("source", "target"), texts, sides, strict=True):
        total, unknown, lacking = 0, 0, Counter[str]()
        for line in lines:
            [pieces] = encode([line])
            if ids.UNK in pieces:
                unknown += pieces.count(ids.UNK)
                lacking.update(equals.missing(line))
            total += len(pieces)
        where = f"{split}: {side} sentences"
        if unknown > MOST_UNKNOWN * total:
            raise files.DataError(
                f"{where} must be text that the vocabulary of {origin} can spell, got {unknown / total:.0%} unknown "
                f"pieces ({listed(lacking)}); expected at most {MOST_UNKNOWN:.0%}: train a system of its own on it "
                "(nmt new-corpus)"
            )
        if lacking:
            say(where, f"no piece of {origin} spells {listed(lacking)}")
