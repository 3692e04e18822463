"""Each element goes with the probability said, by itself, and its gradient with it."""

import pytest
import torch

from pipeline.kernels.dispatch import dropout
from pipeline.kernels.dropout import MaskedDropout, draw_mask, plain_dropout

RATES = [0.1, 0.3, 0.5, 0.9]


@pytest.fixture
def x():
    torch.manual_seed(1)
    return torch.rand(100, 1000) + 1  # nothing is zero by itself


@pytest.mark.parametrize("rate", RATES)
def test_share_and_scale(x, rate):
    """Of 100,000 elements the share dropped has a standard deviation below 0.0016."""
    out = dropout(x, rate, training=True)
    kept = out != 0
    assert abs((~kept).float().mean() - rate) < 0.008
    torch.testing.assert_close(out[kept], x[kept] / (1 - rate))


@pytest.mark.parametrize("rate", RATES)
def test_neighbours_know_nothing_of_each_other(rate):
    """Four decisions share a random number: none of the four places differs, and no two go together."""
    torch.manual_seed(1)
    kept = draw_mask(torch.Size([100_000, 4]), rate, torch.float64)
    assert (kept.mean(0) - (1 - rate)).abs().max() < 0.008
    together = torch.corrcoef(kept.T) - torch.eye(4, dtype=torch.float64)
    assert together.abs().max() < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kernel_and_twin_agree(dtype):
    torch.manual_seed(2)
    x = torch.randn(50, 40).to(dtype).requires_grad_()
    keep, given = draw_mask(x.shape, 0.25, dtype), torch.randn_like(x)
    found, expected = (function(x, keep, 1 / 0.75) for function in (MaskedDropout.apply, plain_dropout))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, x, given), torch.autograd.grad(expected, x, given))


def test_nothing_is_dropped_at_rate_0_or_outside_training(x):
    assert dropout(x, 0.0, training=True) is x
    assert dropout(x, 0.5, training=False) is x


def test_it_draws_from_torchs_generator(x):
    torch.manual_seed(5)
    first, second = dropout(x, 0.5, training=True), dropout(x, 0.5, training=True)
    torch.manual_seed(5)
    assert torch.equal(dropout(x, 0.5, training=True), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (3, 0), (7, 1, 3)])
def test_any_shape(shape):
    assert draw_mask(torch.Size(shape), 0.5, torch.float32).shape == shape
    assert dropout(torch.ones(shape), 0.5, training=True).shape == shape
