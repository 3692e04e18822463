"""What greedy and beam search share: which pieces may follow, hypotheses and their scores."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pipeline import ids
from pipeline.files import DataError
from pipeline.models import interface

# No search writes these, except UNK on demand: text cannot hold an unknown piece (it would read ` ⁇ `), a translation
# in whole words can. fairseq allows UNK and charges a penalty for it, by default 0.
FORBIDDEN = (ids.PAD, ids.UNK, ids.BOS)
ROWS = 256  # scored at a time on a CPU: 256 rows of 8,000 pieces in fp32 are 8 MB, which its cache holds


class Hypothesis(NamedTuple):
    """A finished translation: its pieces without BOS and EOS, and its score (nats over the length penalty)."""

    ids: list[int]
    score: float


def choose_pieces(
    model: interface.Model,
    hidden: Tensor,
    chooser: Callable[[Tensor, slice], tuple[Tensor, ...]],
    never: Sequence[int] = FORBIDDEN,
) -> list[Tensor]:
    """The results of `chooser(logits, rows)` for all rows of `hidden`, on a CPU computed a block of rows at a time.

    Logits of the pieces in `never` are minus infinity.

    Raises: DataError if a logit is not a number.
    Shapes: hidden (N, D); `chooser` returns tensors with as many rows as its logits, which are joined.
    """
    size = ROWS if hidden.device.type == "cpu" else len(hidden)
    every = [slice(begin, begin + size) for begin in range(0, len(hidden), size)]
    blocks = [chooser(mask_pieces(checked(model.logits(hidden[rows])), never), rows) for rows in every]
    return [torch.cat(tensors) for tensors in zip(*blocks, strict=True)]


def checked(logits: Tensor) -> Tensor:
    """The same logits.

    Raises: DataError if one of them is not a number, by which no piece could be chosen.
    """
    if math.isnan(float(logits.sum())):
        raise DataError(
            "weights: give no probabilities, got a logit that is no number; expected a training that converged"
        )
    return logits


def forbidden(*, unknown: bool) -> tuple[int, ...]:
    """The pieces that a search never writes, with `unknown` all but UNK."""
    return tuple(piece for piece in FORBIDDEN if piece != ids.UNK or not unknown)


def mask_pieces(logits: Tensor, never: Sequence[int] = FORBIDDEN) -> Tensor:
    """The logits, in fp32 at least, with those of the pieces in `never` set to minus infinity.

    In place, unless they come in less than fp32: a copy costs as much as finding the best.

    Shapes: logits (N, V) -> (N, V).
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return wide.index_fill_(1, torch.tensor(never, device=logits.device), -math.inf)


def length_penalty(lengths: Tensor, alpha: float) -> Tensor:
    """The divisor of a hypothesis's log P: ((5 + |Y|) / 6) ^ alpha, where |Y| counts EOS.

    Source: Wu et al. 2016, eq. 14, without their coverage penalty. With alpha 0 probability alone counts.
    """
    return ((5 + lengths.double()) / 6) ** alpha
