"""What greedy and beam search share: which pieces may follow, what a hypothesis is and what it is worth."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pipeline import ids
from pipeline.models.interface import LinearMap

# No search writes these, but UNK where it is asked to: text cannot hold an unknown piece (it would read ` ⁇ `), a
# translation in whole words can. fairseq leaves it in and charges a penalty for it, 0 unless asked.
NEVER = (ids.PAD, ids.UNK, ids.BOS)


ROWS = 256  # that a CPU scores at a time: 256 rows of 8,000 pieces in fp32 are 8 MB, which its cache holds


class Hypothesis(NamedTuple):
    """A finished translation: its pieces without BOS and EOS, and its score (nats over the length penalty)."""

    ids: list[int]
    score: float


def chosen(
    scorer: LinearMap,
    hidden: Tensor,
    choose: Callable[[Tensor, slice], tuple[Tensor, ...]],
    never: Sequence[int] = NEVER,
) -> list[Tensor]:
    """What `choose` makes of the logits of possible pieces and the rows they are of; a CPU takes some rows at a time.

    `scorer` is a model's, `never` which pieces are not possible. Shapes: hidden (N, D); `choose` gives tensors of as
    many rows as its logits have, which are joined.
    """
    size = ROWS if hidden.device.type == "cpu" else len(hidden)
    every = [slice(begin, begin + size) for begin in range(0, len(hidden), size)]
    found = [choose(possible(scorer(hidden[rows]), never), rows) for rows in every]
    return [torch.cat(tensors) for tensors in zip(*found, strict=True)]


def forbidden(*, unknown: bool) -> tuple[int, ...]:
    """The pieces that a search never writes; UNK is not among them where `unknown` allows it."""
    return tuple(piece for piece in NEVER if piece != ids.UNK or not unknown)


def possible(logits: Tensor, never: Sequence[int] = NEVER) -> Tensor:
    """The logits, in fp32 at least, those of pieces that may never be written at minus infinity.

    They are changed in place unless they are of less than fp32: a copy of them costs as much as finding the best.

    Shapes: logits (N, V) -> (N, V).
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return wide.index_fill_(1, torch.tensor(never, device=logits.device), -math.inf)


def length_penalty(lengths: Tensor, alpha: float) -> Tensor:
    """What log P of a hypothesis is divided by: ((5 + |Y|) / 6) ^ alpha, where |Y| counts EOS.

    Source: Wu et al. 2016, eq. 14, without their coverage penalty. alpha 0 compares by probability alone.
    """
    return ((5 + lengths.double()) / 6) ** alpha
