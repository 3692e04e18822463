"""From scores to attention weights, over the whole source or around a position that the state predicts."""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from ..common.params import Section


class GlobalScope(Section):
    """All of the source."""

    kind: Literal["global"]


class LocalScope(Section):
    """Positions within `window` of the centre, weighted by a Gaussian around it with standard deviation `deviation`."""

    kind: Literal["local_p"]
    window: PositiveInt
    deviation: PositiveFloat


Scope = Annotated[GlobalScope | LocalScope, Field(discriminator="kind")]


class Global(nn.Module):
    """softmax of the scores over the real positions."""

    def forward(self, scores: Tensor, state: Tensor, real: Tensor) -> Tensor:
        """Shapes: scores (N, S), state (N, D), real (N, S) -> (N, S)."""
        return scores.masked_fill(~real, -math.inf).softmax(dim=1)


class LocalP(nn.Module):
    """softmax within p +- window, times exp(-(j - p)^2 / (2 deviation^2)), not renormalised.

    The centre is p = S sigmoid(v^T tanh(W s)); j counts from 0, and S is how many real positions of the sentence (EOS
    included) have a score.

    Source: Luong et al. 2015, section 3.2, local-p, but with the state before the step.
    """

    def __init__(self, state_size: int, window: int, deviation: float) -> None:
        super().__init__()
        self.window, self.deviation = window, deviation
        self.centre_in = nn.Linear(state_size, state_size, bias=False)
        self.centre_out = nn.Linear(state_size, 1, bias=False)

    def forward(self, scores: Tensor, state: Tensor, real: Tensor) -> Tensor:
        """Shapes: scores (N, S), state (N, D), real (N, S) -> (N, S)."""
        known = real & (scores > -math.inf)  # location scoring knows a fixed number of positions
        lengths = known.sum(dim=1, keepdim=True)
        # fp32 even under autocast: bf16 has no number between 128 and 129.
        centre = lengths * torch.sigmoid(self.centre_out(torch.tanh(self.centre_in(state))).float())  # (N, 1)
        distance = torch.arange(scores.shape[1], device=scores.device) - centre  # (N, S)
        near = known & (distance.abs() <= self.window)
        weights = scores.masked_fill(~near, -math.inf).softmax(dim=1)
        return weights * torch.exp(-(distance**2) / (2 * self.deviation**2))


def build(scope: Scope, state_size: int) -> Global | LocalP:
    """The module for a section, given the width of states."""
    return LocalP(state_size, scope.window, scope.deviation) if isinstance(scope, LocalScope) else Global()
