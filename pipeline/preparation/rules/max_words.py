"""Drops a pair with a side of more words."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from ...common.normalisation import num_words
from ...common.parts import Pair

Value = Annotated[int, Field(ge=0)]
MICROSECONDS = 0.5


def broken(pairs: Sequence[Pair], value: int, languages: tuple[str, str]) -> list[bool]:
    """Whether the longer side of each pair has more words."""
    most = 2 * value  # characters that so many words have at least: letters and the spaces between
    return [any(len(text) >= most and num_words(text) > value for text in pair) for pair in pairs]
