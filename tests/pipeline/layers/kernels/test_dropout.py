"""Each element goes with the probability said, by itself, and its gradient with it."""

import pytest
import torch

from pipeline.layers.kernels.dispatch import dropout
from pipeline.layers.kernels.dropout import MaskedDropout, draw_mask


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_neighbours_know_nothing_of_each_other(rate):
    """Four decisions share a random number: none of the four places differs, and no two go together."""
    torch.manual_seed(1)
    kept = draw_mask(torch.Size([100_000, 4]), rate, torch.float64)
    assert set(kept.flatten().tolist()) == {0.0, 1.0}
    assert (kept.mean(0) - (1 - rate)).abs().max() < 0.008  # its standard deviation is below 0.0016
    together = torch.corrcoef(kept.T) - torch.eye(4, dtype=torch.float64)
    assert together.abs().max() < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kernel_and_twin_agree(dtype):
    torch.manual_seed(2)
    x = torch.randn(50, 40).to(dtype).requires_grad_()
    keep, given = draw_mask(x.shape, 0.25, dtype), torch.randn_like(x)
    found, expected = (
        function(x, keep, 1 / 0.75) for function in (MaskedDropout.apply, lambda x, keep, scale: x * keep * scale)
    )
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, x, given), torch.autograd.grad(expected, x, given))


def test_it_draws_from_torchs_generator_in_training_only():
    x, drawn = torch.ones(100, 100), []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        drawn.append(dropout(x, 0.5, training=True))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert dropout(x, 0.0, training=True) is x
    assert dropout(x, 0.5, training=False) is x


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (3, 0), (7, 1, 3)])
def test_any_shape(shape):
    assert draw_mask(torch.Size(shape), 0.5, torch.float32).shape == shape


@pytest.mark.parametrize("rate", [0.99, 0.9999])
def test_nearly_all(rate):
    torch.manual_seed(1)
    assert 0 < draw_mask(torch.Size([1_000_000]), rate, torch.float32).mean() < 1.2 * (1 - rate)
