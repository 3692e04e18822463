"""Which piece occurs in which pair."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.encoding.shards import Ragged


@dataclass(frozen=True)
class Occurrences:
    """The K times that a piece occurs in a pair, however often it does so there: a sparse (V, N) matrix of 0 and 1."""

    pieces: Tensor  # (K,), ordered by pair
    pairs: Tensor  # (K,), ordered by piece
    per_pair: Tensor  # (N,), how many there are of each pair
    per_piece: Tensor  # (V,)

    @classmethod
    def of(cls, pieces: np.ndarray, pairs: np.ndarray, num_pieces: int, num_pairs: int) -> Self:
        """From the piece of every position, and its pair: (L,) and (L,)."""
        once = np.unique(pairs * num_pieces + pieces)
        pairs, pieces = np.divmod(once, num_pieces)
        by_piece = pairs[np.argsort(pieces, kind="stable")]
        counts = np.bincount(pairs, minlength=num_pairs), np.bincount(pieces, minlength=num_pieces)
        return cls(*map(torch.from_numpy, (pieces, by_piece, *counts)))

    @property
    def rarity(self) -> Tensor:
        """log N / n of each piece, n of N pairs having it (inverse document frequency); 0 for one that has none."""
        shares = self.per_piece.double() / len(self.per_pair)
        return torch.where(self.per_piece > 0, -shares.log(), 0).float()

    def sums_of_pieces(self, x: Tensor) -> Tensor:
        """What the pieces of each pair have together: (V, R) -> (N, R)."""
        return F.embedding_bag(self.pieces, x, starts(self.per_pair), mode="sum")

    def sums_of_pairs(self, x: Tensor) -> Tensor:
        """What the pairs of each piece have together: (N, R) -> (V, R)."""
        return F.embedding_bag(self.pairs, x, starts(self.per_piece), mode="sum")


def positions(side: Ragged, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The piece of every position of these rows, and which of them it is in, counted from 0: (L,) and (L,)."""
    pieces = np.concatenate([np.empty(0, np.int64), *(side[row] for row in rows.tolist())])
    return pieces, np.repeat(np.arange(len(rows)), side.lengths[rows])


def starts(counts: Tensor) -> Tensor:
    """Where each of so many in a row begins: (N,) -> (N,)."""
    return counts.cumsum(0) - counts
