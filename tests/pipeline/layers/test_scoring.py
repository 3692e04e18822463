"""Edges of scores and scopes of attention; their equations are tested with the models."""

import math

import pytest
import torch

from pipeline.layers.scope import LocalP
from pipeline.layers.scoring import Location

REAL = torch.tensor([[True] * 4, [True, True, False, False]])


@torch.no_grad()
def test_location_never_attends_beyond_its_positions():
    scoring = Location(3, 2)
    scores = scoring(torch.randn(1, 3), scoring.project_memory(torch.randn(1, 4, 3)))
    assert torch.isfinite(scores).tolist() == [[True, True, False, False]]


@torch.no_grad()
def test_the_window_always_holds_a_position_with_a_score():
    """A location score of two positions, a sentence of 40: the centre stays among the two."""
    local = LocalP(3, window=1, deviation=0.5)
    scores = torch.full((2, 40), -math.inf)
    scores[:, :2] = 0.0
    weights = local(scores, torch.randn(2, 3), torch.ones(2, 40, dtype=torch.bool))
    assert torch.isfinite(weights).all()
    assert (weights[:, :2].sum(dim=1) > 0).all()
    assert not weights[:, 2:].any()


@torch.no_grad()
@pytest.mark.parametrize("sign", [-100.0, 100.0])
def test_a_centre_at_either_end_still_sees_a_position(sign):
    local = LocalP(1, window=1, deviation=0.5)
    local.centre_in.weight.fill_(100.0)
    local.centre_out.weight.fill_(sign)
    weights = local(torch.zeros(2, 4), torch.ones(2, 1), REAL)
    assert torch.isfinite(weights).all()
    assert (weights.sum(dim=1) > 0).all()


@torch.no_grad()
def test_the_centre_of_a_long_sentence_is_exact_under_bf16():
    """Weights of 0 put it at 200.5 of 401 positions, between two of the four that are near."""
    local, state, real = LocalP(3, window=2, deviation=1.0), torch.randn(1, 3), torch.ones(1, 401, dtype=torch.bool)
    local.centre_out.weight.zero_()
    expected = local(torch.zeros(1, 401), state, real)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weights = local(torch.zeros(1, 401, dtype=torch.bfloat16), state, real)
    torch.testing.assert_close(weights, expected, rtol=0.01, atol=0)
