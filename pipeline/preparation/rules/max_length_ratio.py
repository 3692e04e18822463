"""Drops a pair whose longer side has too many words for one of the shorter side."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from ...common.normalisation import num_words
from ...common.parts import Pair

Value = Annotated[float, Field(ge=0)]
MICROSECONDS = 1.0
SHORT_WORDS = 3  # words that a shorter sentence counts as: `Apparently.` may need a clause


def broken(pairs: Sequence[Pair], value: float, languages: tuple[str, str]) -> list[bool]:
    """Whether the ratio of each pair is larger."""
    counts = (sorted((num_words(source), num_words(target))) for source, target in pairs)
    return [longer > value * max(shorter, SHORT_WORDS) for shorter, longer in counts]
