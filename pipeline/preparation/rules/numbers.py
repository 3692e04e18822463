"""Drops or counts a pair whose sides have different numbers.

Numbers are compared as the digits in each word, sorted: 1,000.5 equals 1.000,5, and the order of words is free. Many
good translations differ: `two` for `2`, 3 pm for 15 Uhr.
"""

import re
from collections.abc import Sequence
from typing import Literal

from ...common.parts import Pair

Value = Literal["off", "count", "drop"]
MICROSECONDS = 2.0
NUMBER = re.compile(r"\d+(?:[.,:'’]\d+|[ \u00a0\u202f]\d{3}(?!\d))*")  # a space stands before three digits only
BETWEEN = re.compile(r"\D")


def broken(pairs: Sequence[Pair], value: str, languages: tuple[str, str]) -> list[bool]:
    """Whether the numbers of each pair differ."""
    return [source != target and numbers(source) != numbers(target) for source, target in pairs]


def numbers(text: str) -> list[int]:
    """The numbers in a text, sorted, in digits of any script."""
    return sorted(int(BETWEEN.sub("", number)) for number in NUMBER.findall(text))
