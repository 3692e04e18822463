"""Embeddings that start close together where their pieces occur in the same pairs: cross-language LSI.

Latent semantic indexing, that is, a truncated singular value decomposition of which piece occurs in which pair.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..common.seeding import generator
from ..encoding.shards import Encoded, Ragged
from ..models.interface import EmbeddingMatrices

OVERSAMPLING, POWER_ITERATIONS = 50, 4  # how near `decompose` comes to the exact decomposition


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
        """Sums over the pieces of each pair: (V, R) -> (N, R)."""
        return F.embedding_bag(self.pieces, x, starts(self.per_pair), mode="sum")

    def sums_of_pairs(self, x: Tensor) -> Tensor:
        """Sums over the pairs of each piece: (N, R) -> (V, R)."""
        return F.embedding_bag(self.pairs, x, starts(self.per_piece), mode="sum")


def start(matrices: EmbeddingMatrices, encoded: Encoded, *, most_pairs: int, seed: int) -> None:
    """Give embeddings, in place, the directions of cross-language LSI; their lengths stay.

    A piece and its translation then start close together, rare ones too. If there are more than `most_pairs` pairs, so
    many are drawn; a piece that is in none of them, or in every one, keeps its embedding.

    Source: Dumais et al. 1997, Automatic cross-language retrieval using latent semantic indexing.
    """
    num_pairs = len(encoded.source)
    rows = np.sort(generator(seed, "LSI pairs").choice(num_pairs, min(most_pairs, num_pairs), replace=False))
    occurrences = count(encoded, matrices, rows)
    directions = decompose(occurrences, matrices.source.shape[1], seed)
    turn_(matrices.target, directions[-len(matrices.target) :])
    if not matrices.are_shared:
        turn_(matrices.source, directions[: len(matrices.source)])


def count(encoded: Encoded, matrices: EmbeddingMatrices, rows: np.ndarray) -> Occurrences:
    """The occurrences in the pairs `rows`; pieces of the target follow those of the source, unless they are shared."""
    first = 0 if matrices.are_shared else len(matrices.source)
    (source, of_source), (target, of_target) = (positions(side, rows) for side in (encoded.source, encoded.target))
    pieces, pairs = np.concatenate((source, target + first)), np.concatenate((of_source, of_target))
    return Occurrences.of(pieces, pairs, first + len(matrices.target), len(rows))


def decompose(occurrences: Occurrences, width: int, seed: int) -> Tensor:
    """Directions of the pieces, (V, width): U sqrt(S) of the first `width` singular values, as rows of length 1.

    Occurrences count by the rarity of the piece. A last random rotation makes all columns alike. A piece that is in
    no pair, or in every one, has a row of zeros.

    Source: Halko, Martinsson and Tropp 2011, algorithm 4.4.
    """
    draw, rarity = generator(seed, "LSI"), occurrences.rarity[:, None]
    num_pieces, num_pairs = len(occurrences.per_piece), len(occurrences.per_pair)
    basis = normal(draw, num_pieces, min(width + OVERSAMPLING, num_pieces, num_pairs))
    for _ in range(POWER_ITERATIONS):
        image = occurrences.sums_of_pieces(rarity * basis)
        basis = torch.linalg.qr(rarity * occurrences.sums_of_pairs(image)).Q
    image = occurrences.sums_of_pieces(rarity * basis).double()
    squares, vectors = torch.linalg.eigh(image.T @ image)  # ascending; the squares of the singular values
    scaled = vectors * squares.clamp(min=0) ** 0.25
    directions = F.pad(basis @ scaled[:, -width:].float(), (0, max(0, width - len(squares))))
    rotation = torch.linalg.qr(normal(draw, width, width)).Q
    return torch.where(rarity > 0, F.normalize(directions @ rotation), 0)


def turn_(matrix: Tensor, directions: Tensor) -> None:
    """Give the rows of a matrix other directions, in place; where a direction is 0 the row stays."""
    with torch.no_grad():
        directions = directions.to(matrix)
        turned = directions * matrix.norm(dim=1, keepdim=True)
        matrix.copy_(torch.where(directions.any(dim=1, keepdim=True), turned, matrix))


def normal(draw: np.random.Generator, rows: int, columns: int) -> Tensor:
    """A matrix of N(0, 1)."""
    return torch.from_numpy(draw.standard_normal((rows, columns), dtype=np.float32))


def positions(side: Ragged, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The piece of every position of these rows, and which of them it is in, counted from 0: (L,) and (L,)."""
    pieces = np.concatenate([np.empty(0, np.int64), *(side[row] for row in rows.tolist())])
    return pieces, np.repeat(np.arange(len(rows)), side.lengths[rows])


def starts(counts: Tensor) -> Tensor:
    """Where each of so many in a row begins: (N,) -> (N,)."""
    return counts.cumsum(0) - counts
