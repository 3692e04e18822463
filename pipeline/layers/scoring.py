"""Attention scoring functions: how well each source position fits the decoder's state.

Each has `project_memory`, computed once per sentence, and `forward`, the scores of one step.
"""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ..common.params import Section, Width


class AdditiveScoring(Section):
    """`size` is the number of units of the alignment model."""

    kind: Literal["additive"]
    size: Width


class ProductScoring(Section):
    """Products of the state and a source position."""

    kind: Literal["general", "dot", "scaled_dot"]


class LocationScoring(Section):
    """`positions` is how many source positions, from the first, can be attended to."""

    kind: Literal["location"]
    positions: Width


AttentionScore = Annotated[AdditiveScoring | ProductScoring | LocationScoring, Field(discriminator="kind")]


class Additive(nn.Module):
    """v^T tanh(W s + U h + b). Source: Bahdanau et al. 2015, appendix A.1.2; `concat` in Luong et al. 2015."""

    def __init__(self, state_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(state_size, size)
        self.key = nn.Linear(memory_size, size, bias=False)
        self.v = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.v, -1 / math.sqrt(size), 1 / math.sqrt(size))

    def project_memory(self, memory: Tensor) -> Tensor:
        """Shapes: memory (B, S, C) -> (B, S, A)."""
        return self.key(memory)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Shapes: state (N, D), keys (N, S, A) -> (N, S)."""
        return torch.tanh(self.query(state)[:, None] + keys) @ self.v


class Product(nn.Module):
    """`dot`: s^T h. `scaled_dot`: s^T h / sqrt(D). `general`: s^T W h.

    Source: Luong et al. 2015, section 3.1; Vaswani et al. 2017 for the scale.
    """

    def __init__(self, state_size: int, memory_size: int, kind: str) -> None:
        super().__init__()
        assert kind == "general" or state_size == memory_size, f"{kind} of widths {state_size} and {memory_size}"
        self.key = nn.Linear(memory_size, state_size, bias=False) if kind == "general" else nn.Identity()
        self.scale = state_size**-0.5 if kind == "scaled_dot" else 1.0

    def project_memory(self, memory: Tensor) -> Tensor:
        """Shapes: memory (B, S, C) -> (B, S, D)."""
        return self.key(memory)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Shapes: state (N, D), keys (N, S, D) -> (N, S)."""
        return (keys @ (state * self.scale)[:, :, None]).squeeze(2)


class Location(nn.Module):
    """W s: one score per position, from the state alone; positions beyond `positions` are never attended to.

    Source: Luong et al. 2015, equation 8.
    """

    def __init__(self, state_size: int, positions: int) -> None:
        super().__init__()
        self.query = nn.Linear(state_size, positions)

    def project_memory(self, memory: Tensor) -> Tensor:
        """Nothing but the number of positions: (B, S, C) -> (B, S, 0)."""
        return memory[:, :, :0]

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        """Shapes: state (N, D), keys (N, S, 0) -> (N, S)."""
        scores = self.query(state)[:, : keys.shape[1]]
        return F.pad(scores, (0, keys.shape[1] - scores.shape[1]), value=-math.inf)


def build(scoring: AttentionScore, state_size: int, memory_size: int) -> Additive | Product | Location:
    """The module for a section, given the widths of states and source positions."""
    if isinstance(scoring, AdditiveScoring):
        return Additive(state_size, memory_size, scoring.size)
    if isinstance(scoring, LocationScoring):
        return Location(state_size, scoring.positions)
    return Product(state_size, memory_size, scoring.kind)
