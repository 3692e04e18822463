"""Drops a pair whose sides are the same: nobody has translated it."""

from collections.abc import Sequence

from ...common.parts import Pair

Value = bool
MICROSECONDS = 0.1


def broken(pairs: Sequence[Pair], value: bool, languages: tuple[str, str]) -> list[bool]:
    """Whether the sides of each pair are equal."""
    return [source == target for source, target in pairs]
