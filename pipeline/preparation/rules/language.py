"""Drops a pair with a side of four words or more that is not in its language.

CLD2 sees 30,000 texts a second, and is wrong about 7 of 100 short French ones; py3langid sees 1,000. So a text is in
another language only if CLD2 says so and py3langid finds its own unlikely. Limited to the two languages of the pair,
py3langid would take a third one for either.
"""

from collections.abc import Sequence

import pycld2

from ...common.files import DataError
from ...common.normalisation import num_words
from ...common.parts import Pair
from ...languages.identification import base, identifier, knows

Value = bool
MICROSECONDS = 100.0
WORDS = 4  # shorter texts pass
UNLIKELY = 0.1  # 1 of 2,000 short French texts is as unlikely by mistake; of English ones in their place 95 of 100


def broken(pairs: Sequence[Pair], value: bool, languages: tuple[str, str]) -> list[bool]:
    """Whether a side of each pair is in another language than its own.

    Raises: DataError for a language that nobody can tell.
    """
    if unknown := [tag for tag in languages if not knows(tag)]:
        raise DataError(f"clean.language: must be false, got text in {unknown[0]!r}, which py3langid does not know")
    own = base(languages[0]), base(languages[1])
    return [is_other(source, own[0]) or is_other(target, own[1]) for source, target in pairs]


def is_other(text: str, own: str) -> bool:
    """Whether a text is in another language."""
    try:
        best = pycld2.detect(text, bestEffort=True)[2][0][1]
    except pycld2.error:  # a character that it does not know
        best = ""
    if best == own or dict(identifier().rank(text))[own] >= UNLIKELY:
        return False
    return num_words(" ".join(word for word in text.split() if any(map(str.isalpha, word)))) >= WORDS
