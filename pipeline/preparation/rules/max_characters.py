"""Drops a pair with a side of more characters."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from ...common.parts import Pair

Value = Annotated[int, Field(ge=0)]
MICROSECONDS = 0.1


def broken(pairs: Sequence[Pair], value: int, languages: tuple[str, str]) -> list[bool]:
    """Whether the longer side of each pair is longer."""
    return [len(source) > value or len(target) > value for source, target in pairs]
