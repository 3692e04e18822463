"""The common part of greedy and beam search: hypotheses, and the scores of the next pieces."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..common.files import DataError
from ..compute import ids
from ..models import interface

# No search writes these, except UNK on demand: text cannot hold an unknown piece (it would read ` ⁇ `), a translation
# in whole words can. fairseq allows UNK and charges a penalty for it, by default 0.
FORBIDDEN = (ids.PAD, ids.UNK, ids.BOS)
ROWS = 256  # scored at a time on a CPU: 256 rows of 8,000 pieces in fp32 are 8 MB, which its cache holds


class Hypothesis(NamedTuple):
    """A finished translation: its pieces without BOS and EOS, and its score (nats over the length penalty)."""

    ids: list[int]
    score: float


def logit_blocks(
    model: interface.Model, hidden: Tensor, prefixes: Tensor | None, *, unknown: bool, no_repeat: int
) -> Iterator[tuple[slice, Tensor]]:
    """Rows of `hidden` and their logits, on a CPU a block of rows at a time; those of FORBIDDEN pieces are -infinity.

    UNK is allowed with `unknown`. Pieces that would repeat an n-gram of `no_repeat` pieces of a row's prefix are not.

    Shapes: hidden (N, D), prefixes (N, T) -> (block, V) each.
    Raises: DataError if a logit is not a number.
    """
    never = [piece for piece in FORBIDDEN if piece != ids.UNK or not unknown]
    size = ROWS if hidden.device.type == "cpu" else len(hidden)
    for begin in range(0, len(hidden), size):
        rows = slice(begin, begin + size)
        logits = model.logits(hidden[rows])
        if math.isnan(float(logits.sum())):
            raise DataError(
                "weights: give no probabilities, got a logit that is no number; expected a training that converged"
            )
        logits = mask_pieces(logits, never)
        if prefixes is not None and 0 < no_repeat <= prefixes.shape[1]:
            block_repeats(logits, prefixes[rows], no_repeat)
        yield rows, logits


def mask_pieces(logits: Tensor, never: Sequence[int] = FORBIDDEN) -> Tensor:
    """The logits, in fp32 at least, with those of the pieces in `never` set to minus infinity.

    In place, unless they come in less than fp32: a copy costs as much as finding the best.

    Shapes: logits (N, V) -> (N, V).
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return wide.index_fill_(1, torch.tensor(never, device=logits.device), -math.inf)


def block_repeats(logits: Tensor, prefixes: Tensor, size: int) -> None:
    """Set to minus infinity, in place, the pieces that end an n-gram of `size` pieces that the prefix holds already.

    Shapes: logits (N, V), prefixes (N, T) of at least `size` pieces.
    Source: Paulus et al. 2018, section 2.5; `no_repeat_ngram_size` of fairseq and CTranslate2.
    """
    ngrams = prefixes.unfold(1, size, 1)  # (N, T - size + 1, size)
    last = prefixes[:, None, prefixes.shape[1] - size + 1 :]
    rows, places = (ngrams[:, :, :-1] == last).all(dim=2).nonzero(as_tuple=True)
    logits[rows, ngrams[rows, places, -1]] = -math.inf
