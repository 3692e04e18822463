"""From scores to attention weights: over the whole source, or around a centre that the state predicts."""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from pipeline.params import Section


class GlobalScope(Section):
    """All of the source."""

    kind: Literal["global"]


class LocalScope(Section):
    """Positions within `window` of the centre, weighed by a Gaussian of standard deviation `deviation` around it."""

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

    The centre is p = S sigmoid(v^T tanh(W s)); j counts from 0 and S is the sentence's real length, EOS included,
    as far as the scores know its positions.
    Source: Luong et al. 2015, section 3.2, local-p, with the state before the step.
    """

    def __init__(self, state_size: int, window: int, deviation: float) -> None:
        super().__init__()
        self.window, self.deviation = window, deviation
        self.centre_in = nn.Linear(state_size, state_size, bias=False)
        self.centre_out = nn.Linear(state_size, 1, bias=False)

    def forward(self, scores: Tensor, state: Tensor, real: Tensor) -> Tensor:
        """Shapes: scores (N, S), state (N, D), real (N, S) -> (N, S)."""
        known = real & (scores > -math.inf)  # location knows only so many positions
        lengths = known.sum(dim=1, keepdim=True)
        # In fp32 where products are in bf16, which knows no position between 128 and 129.
        centre = lengths * torch.sigmoid(self.centre_out(torch.tanh(self.centre_in(state))).float())  # (N, 1)
        away = torch.arange(scores.shape[1], device=scores.device) - centre  # (N, S)
        near = known & (away.abs() <= self.window)
        weights = scores.masked_fill(~near, -math.inf).softmax(dim=1)
        return weights * torch.exp(-(away**2) / (2 * self.deviation**2))


def build(scope: Scope, state_size: int) -> Global | LocalP:
    """The scope of a section, for states of this width."""
    return LocalP(state_size, scope.window, scope.deviation) if isinstance(scope, LocalScope) else Global()
