"""A translated sentence and what its model attended to."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, RootModel

from pipeline import files, summaries

START = "<s>"


@dataclass(frozen=True)
class Attended:
    """One sentence, its translation in the order it was written, and the weights of every attention by name.

    Shapes: weights (H, rows, columns) each. Row t of a target side is the step that writes target piece t.
    """

    line: int  # counted from 1
    source: list[str]  # labels of the pieces, its end included
    target: list[str]
    text: str
    weights: Mapping[str, NDArray[Any]]
    part: str = ""  # the test part that the line is of, if any

    def __post_init__(self) -> None:
        for name, weights in self.weights.items():
            expected = len(self.rows(name)), len(self.columns(name))
            assert weights.shape[1:] == expected, (name, weights.shape, expected)

    @classmethod
    def of(cls, record: Mapping[str, Any], part: str = "") -> Self:
        """The sentence of a JSON record."""
        weights = {name: np.array(heads, dtype=float) for name, heads in record["weights"].items()}
        return cls(**{**record, "weights": weights, "part": part})

    def rows(self, name: str) -> list[str]:
        """The label of each row of an attention: a source piece in an encoder, else the target piece being written."""
        return self.source if name.startswith("encoder") else self.target

    def columns(self, name: str) -> list[str]:
        """The label of each column: a target piece already written in decoder self-attention, else a source piece."""
        return [START, *self.target[:-1]] if name.startswith("decoder") else self.source


class Record(summaries.Summary):
    """A sentence as `attend` writes it."""

    line: summaries.Count
    source: list[str]
    target: list[str]
    text: str
    weights: dict[Annotated[str, Field(pattern=r"^(encoder|decoder|cross|attention)( \d+)?$")], list[list[list[float]]]]


class Records(RootModel[list[Record]]):
    """data/attend/<system>/<part>.json."""


def read(path: Path) -> list[Attended]:
    """The sentences of one test part, which the file is called after.

    Raises: DataError if the file is missing or holds anything else.
    """
    records = Records.model_validate(summaries.read(path, Records)).root
    try:
        return [Attended.of(record.model_dump(), path.stem) for record in records]
    except (ValueError, AssertionError):
        raise files.DataError(
            f"{path}: holds weights of other shapes than its pieces; expected what the stage writes"
        ) from None
