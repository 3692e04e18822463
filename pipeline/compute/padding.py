"""Sentences of different lengths in one tensor: cut into batches within a budget, padded, and of few shapes."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from . import ids

STEPS = 8  # numbers that are kept between a power of two and the next one


def cuts(longest: Sequence[int], budget: int) -> Iterator[tuple[int, int]]:
    """Begin and end of runs of sentences; their number times the longest is within `budget`, or the run is one."""
    begin, length = 0, 0
    for end, current in enumerate(longest):
        length = max(length, current)
        if end > begin and (end + 1 - begin) * length > budget:
            yield begin, end
            begin, length = end, current
    if begin < len(longest):
        yield begin, len(longest)


def pad(
    sentences: Sequence[Sequence[int] | np.ndarray[Any, Any]],
    *,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    multiple: int = 1,
    length: int = 0,
    rows: int = 0,
) -> Tensor:
    """One row a sentence, between the pieces `before` and `after`, padded with PAD: (B, S) int64.

    S is the length of the longest or the next multiple, and at least `length`; B is at least `rows`.
    """
    longest = max(map(len, sentences)) + len(before) + len(after)
    size = max(rows, len(sentences)), max(length, -(-longest // multiple) * multiple)
    table = np.full(size, ids.PAD, dtype=np.int64)
    for row, sentence in zip(table, sentences, strict=False):
        end = len(before) + len(sentence)
        row[: len(before)] = before
        row[len(before) : end] = sentence
        row[end : end + len(after)] = after
    return torch.from_numpy(table)


class Shape(NamedTuple):
    """The sizes of a padded micro-batch. A GPU captures its work once for each, so there should be few."""

    sentences: int
    source: int  # positions of each, EOS included
    target: int


def round_up(number: int) -> int:
    """The next number that is kept: every one up to 16, then every second up to 32, every fourth up to 64 ..."""
    step = 1 << max(0, (number - 1).bit_length() - STEPS.bit_length())
    return -(-number // step) * step


def bucket(shape: Shape) -> Shape:
    """The smallest shape with kept numbers that holds this one."""
    return Shape(*map(round_up, shape))
