"""Embeddings that start close together where their pieces occur in the same pairs: cross-language LSI.

Latent semantic indexing, that is, a truncated singular value decomposition of which piece occurs in which pair.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..common.seeding import generator, seed_for
from ..encoding.shards import Encoded
from ..models.interface import EmbeddingMatrices

OVERSAMPLING, POWER_ITERATIONS = 50, 2  # how near `directions` comes to the exact decomposition


def start(matrices: EmbeddingMatrices, encoded: Encoded, *, most_pairs: int, seed: int) -> None:
    """Give embeddings, in place, the directions of cross-language LSI; their lengths stay.

    A piece and its translation then start close together, rare ones too. If there are more than `most_pairs` pairs, so
    many are drawn; a piece that is in none of them, or in every one, keeps its embedding.

    Source: Dumais et al. 1997, Automatic cross-language retrieval using latent semantic indexing.
    """
    num_pairs = len(encoded.source)
    rows = np.sort(generator(seed, "LSI pairs").choice(num_pairs, min(most_pairs, num_pairs), replace=False))
    first = 0 if matrices.are_shared else len(matrices.source)
    weighted = occurrences(encoded, rows, first, first + len(matrices.target))
    vectors = directions(weighted, matrices.source.shape[1], seed)
    turn_(matrices.target, vectors[-len(matrices.target) :])
    if not matrices.are_shared:
        turn_(matrices.source, vectors[: len(matrices.source)])


def occurrences(encoded: Encoded, rows: np.ndarray, first: int, num_pieces: int) -> Tensor:
    """A sparse (V, N) matrix: the rarity of each piece in the pairs `rows` that have it, however often, else 0.

    A target's pieces count from `first`. The rarity of a piece that n of N pairs have is log N / n (inverse document
    frequency).
    """
    sides = ((encoded.source, 0), (encoded.target, first))
    pieces = np.concatenate([side[row].astype(np.int64) + begin for side, begin in sides for row in rows.tolist()])
    lengths = [[len(side[row]) for row in rows.tolist()] for side, _ in sides]
    pairs = np.concatenate([np.repeat(np.arange(len(rows)), each) for each in lengths])
    pairs, pieces = np.divmod(np.unique(pairs * num_pieces + pieces), num_pieces)
    rarity = np.log(len(rows) / np.bincount(pieces, minlength=num_pieces).clip(1)).astype(np.float32)
    places = torch.from_numpy(np.stack((pieces, pairs)))
    shape = (num_pieces, len(rows))
    return torch.sparse_coo_tensor(places, torch.from_numpy(rarity[pieces]), shape, check_invariants=True).coalesce()


def directions(weighted: Tensor, width: int, seed: int) -> Tensor:
    """Directions of the pieces, (V, width): U sqrt(S) of the first `width` singular values, as rows of length 1.

    A last random rotation makes all columns alike. A piece whose row is empty has a row of zeros.

    Source: Halko, Martinsson and Tropp 2011, algorithm 4.4, by torch.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "LSI"))
        left, values, _ = torch.svd_lowrank(weighted, min(width + OVERSAMPLING, *weighted.shape), POWER_ITERATIONS)
        rotation = torch.linalg.qr(torch.randn(width, width)).Q
    scaled = (left * values.sqrt())[:, :width]
    turned = F.pad(scaled, (0, width - scaled.shape[1])) @ rotation
    has_pairs = torch.sparse.sum(weighted, dim=1).to_dense() > 0
    return torch.where(has_pairs[:, None], F.normalize(turned), 0)


def turn_(matrix: Tensor, vectors: Tensor) -> None:
    """Give the rows of a matrix the directions of vectors, in place; where a vector is 0 the row stays."""
    with torch.no_grad():
        vectors = vectors.to(matrix)
        turned = vectors * matrix.norm(dim=1, keepdim=True)
        matrix.copy_(torch.where(vectors.any(dim=1, keepdim=True), turned, matrix))
