"""What greedy and beam search share: hypotheses, and the scores of the next pieces."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..common import ids
from ..common.files import DataError
from ..models import interface

# No search writes these, except UNK on demand: text cannot hold an unknown piece (it would read ` ⁇ `), a translation
# in whole words can. fairseq allows UNK and charges a penalty for it, by default 0.
FORBIDDEN = (ids.PAD, ids.UNK, ids.BOS)
ROWS = 256  # scored at a time on a CPU: 256 rows of 8,000 pieces in fp32 are 8 MB, which its cache holds


class Hypothesis(NamedTuple):
    """A finished translation: its pieces without BOS and EOS, and its score (nats over the length penalty)."""

    ids: list[int]
    score: float


def forbidden(*, unknown: bool) -> tuple[int, ...]:
    """The pieces that a search never writes, with `unknown` all but UNK."""
    return tuple(piece for piece in FORBIDDEN if piece != ids.UNK or not unknown)


def logit_blocks(
    model: interface.Model, hidden: Tensor, never: Sequence[int] = FORBIDDEN
) -> Iterator[tuple[slice, Tensor]]:
    """Rows of `hidden` and their logits, on a CPU a block of rows at a time; those of pieces in `never` are -infinity.

    Shapes: hidden (N, D) -> (block, V) each.
    Raises: DataError if a logit is not a number.
    """
    size = ROWS if hidden.device.type == "cpu" else len(hidden)
    for begin in range(0, len(hidden), size):
        rows = slice(begin, begin + size)
        logits = model.logits(hidden[rows])
        if math.isnan(float(logits.sum())):
            what = "give no probabilities, got a logit that is no number"
            raise DataError(f"weights: {what}; expected a training that converged")
        yield rows, mask_pieces(logits, never)


def mask_pieces(logits: Tensor, never: Sequence[int] = FORBIDDEN) -> Tensor:
    """The logits, in fp32 at least, with those of the pieces in `never` set to minus infinity.

    In place, unless they come in less than fp32: a copy costs as much as finding the best.

    Shapes: logits (N, V) -> (N, V).
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return wide.index_fill_(1, torch.tensor(never, device=logits.device), -math.inf)
