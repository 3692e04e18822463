"""Sentences of different lengths in one tensor: cut into batches within a budget, and padded."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pipeline import ids


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
