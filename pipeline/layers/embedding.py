"""Scaled embeddings and the output projection, with a matrix each or with shared ones."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .linear import Prepackable


class SharedMatrixError(ValueError):
    """Two vocabularies of different sizes cannot share one matrix."""


class EmbeddingMatrices(NamedTuple):
    """The embeddings of both languages, (V, E) each: one and the same matrix if they share it."""

    source: nn.Parameter
    target: nn.Parameter

    @property
    def are_shared(self) -> bool:
        """Whether a piece has one embedding in both languages."""
        return self.source is self.target


class Embeddings(Prepackable, nn.Module):
    """Source embedding, target embedding and output projection.

    `tied` says which uses share a matrix: "none", "output" (target embedding and projection) or "all" (three ways).

    Source: Press and Wolf 2017; embeddings are scaled by sqrt(D) as in Vaswani et al. 2017, section 3.4.
    Raises: SharedMatrixError for "all" with two vocabularies of different sizes.
    """

    def __init__(self, source_size: int, target_size: int, width: int, *, tied: str) -> None:
        super().__init__()
        if tied == "all" and source_size != target_size:
            raise SharedMatrixError(
                f"tied_embeddings: all needs one joint vocabulary, got {source_size} source and {target_size} target "
                "pieces; expected a joint vocabulary, or tied_embeddings: output or none"
            )
        self.scale, self.tied = math.sqrt(width), tied
        self.target = nn.Parameter(torch.empty(target_size, width))
        if tied != "all":
            self.source = nn.Parameter(torch.empty(source_size, width))
        if tied == "none":
            self.output = nn.Parameter(torch.empty(target_size, width))
        self.bias = nn.Parameter(torch.zeros(target_size))

    def embed_source(self, ids: Tensor) -> Tensor:
        """Shapes: ids (B, S) -> (B, S, D)."""
        return F.embedding(ids, self.matrices.source) * self.scale

    def embed_target(self, ids: Tensor) -> Tensor:
        """Shapes: ids (B, T) -> (B, T, D)."""
        return F.embedding(ids, self.target) * self.scale

    @property
    def matrices(self) -> EmbeddingMatrices:
        """The embeddings of both languages."""
        return EmbeddingMatrices(self.target if self.tied == "all" else self.source, self.target)

    @property
    def projection(self) -> Tensor:
        """The matrix of the output projection: (V, D)."""
        return self.output if self.tied == "none" else self.target

    def logits(self, x: Tensor) -> Tensor:
        """Shapes: x (..., D) -> (..., V)."""
        return self.linear(x, self.projection, self.bias)
