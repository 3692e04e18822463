import math

import pytest
import torch

from pipeline.layers.scope import Global, LocalP

REAL = torch.tensor([[True] * 4, [True, True, False, False]])


def test_all_real_positions_share_the_weight():
    weights = Global()(torch.tensor([[0.0, math.log(2), 0.0, 0.0], [1.0, 1.0, 9.0, 9.0]]), torch.zeros(2, 3), REAL)
    torch.testing.assert_close(weights, torch.tensor([[0.2, 0.4, 0.2, 0.2], [0.5, 0.5, 0.0, 0.0]]))


@torch.no_grad()
def test_local_p_by_hand():
    """Weights of 0 put the centre at S / 2: 2 of four positions, 1 of two."""
    local = LocalP(3, window=1, deviation=0.5)
    local.centre_out.weight.zero_()
    weights = local(torch.zeros(2, 4), torch.randn(2, 3), REAL)
    side = math.exp(-1 / (2 * 0.5**2))
    expected = [[0.0, side / 3, 1 / 3, side / 3], [side / 2, 1 / 2, 0.0, 0.0]]
    torch.testing.assert_close(weights, torch.tensor(expected))


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
    assert expected[0].nonzero().flatten().tolist() == [199, 200, 201, 202]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = local(torch.zeros(1, 401, dtype=torch.bfloat16), state, real)
    torch.testing.assert_close(found, expected, rtol=0.01, atol=0)
