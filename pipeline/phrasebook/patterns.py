"""The list of sentence patterns, filled by the modules that write them."""

from collections.abc import Callable

from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.phrases import Pair

Pattern = Callable[[Draw], Pair]

PATTERNS: dict[str, Pattern] = {}


def pattern(function: Pattern) -> Pattern:
    """Enter a function that writes one sentence, before spelling and capitals, under its own name."""
    PATTERNS[function.__name__] = function
    return function
