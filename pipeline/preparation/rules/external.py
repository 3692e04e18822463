"""Drops a pair that another program scores lower, such as bicleaner-ai or CometKiwi in an environment of its own."""

from collections.abc import Sequence
from typing import Self

from pydantic import model_validator

from ...common.files import DataError
from ...common.params import Section
from ...common.parts import Pair
from .. import programs

WHERE, EXPECTED = "clean.external.command", "a program that prints a number a line"


class Value(Section):
    """A program that reads a line a pair, source and target with a tab between, and prints a number a line."""

    command: str | None = None
    at_least: float | None = None

    @model_validator(mode="after")
    def check_both(self) -> Self:
        """Both keys, or neither: off."""
        if (self.command is None) != (self.at_least is None):
            raise ValueError(f"must have command and at_least, or {{}}, got {self.model_dump(exclude_none=True)}")
        return self

    def __bool__(self) -> bool:
        """Whether there is a program."""
        return self.command is not None


MICROSECONDS = 1000.0


def broken(pairs: Sequence[Pair], value: Value, languages: tuple[str, str]) -> list[bool]:
    """Whether the score of each pair is lower.

    Raises: DataError if the program fails or prints something else.
    """
    assert value.command is not None
    assert value.at_least is not None
    scores = programs.numbers(programs.run(value.command, pairs, WHERE, EXPECTED), WHERE, EXPECTED)
    if len(scores) != len(pairs):
        raise DataError(f"{WHERE}: must print a number for each of {len(pairs)} pairs, got {len(scores)}")
    return [score < value.at_least for score in scores]
