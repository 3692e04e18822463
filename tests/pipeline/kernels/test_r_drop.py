"""R-Drop's kernel against its twin, and the twin by hand."""

import math

import pytest
import torch

from pipeline.kernels import dispatch
from pipeline.kernels.r_drop import BLOCK_ROWS, plain_r_drop
from pipeline.training.loss import masses, r_drop_loss, smoothed_cross_entropy

N, V = 2 * BLOCK_ROWS + 9, 23


@pytest.fixture
def drawn():
    torch.manual_seed(1)
    return 3 * torch.randn(2, N, V), torch.randint(1, V, (N,))


def with_gradient(function, logits, targets, *rest):
    logits = logits.detach().clone().requires_grad_()
    value = function(logits, targets, *rest)
    (value / 7).backward()
    return value.detach(), logits.grad


def test_by_hand():
    """Two pieces: (1/2, 1/2) and (1/4, 3/4), the first of them right; KL(P1 || P2) + KL(P2 || P1) is ln(3) / 4."""
    logits = torch.tensor([[[0.5, 0.5]], [[0.25, 0.75]]]).log() + 3.0  # a shift changes nothing
    entropy = (math.log(2) + math.log(4)) / 2
    for weight in (0.0, 1.0, 5.0):
        found = r_drop_loss(logits, torch.tensor([0]), smoothing=0.0, spread="all", weight=weight)
        assert float(found) == pytest.approx(entropy + weight / 4 * math.log(3) / 4, abs=1e-6)


@pytest.mark.parametrize("weight", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("spread", ["all", "others"])
def test_the_kernel_is_its_twin(drawn, smoothing, spread, weight):
    q = masses(V, smoothing, spread)
    value, gradient = with_gradient(dispatch.r_drop, *drawn, *q, weight)
    expected, expected_gradient = with_gradient(plain_r_drop, *drawn, *q, weight)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=1e-6)


def test_bf16_keeps_its_precision(drawn):
    logits, targets = drawn[0].bfloat16(), drawn[1]
    q = masses(V, 0.1, "others")
    value, gradient = with_gradient(dispatch.r_drop, logits, targets, *q, 3.0)
    expected, expected_gradient = with_gradient(plain_r_drop, logits.float(), targets, *q, 3.0)
    assert gradient.dtype == torch.bfloat16
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-2)
    torch.testing.assert_close(gradient.float(), expected_gradient, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_equal_passes_cost_no_more_than_one(drawn, weight):
    logits, targets = drawn[0][:1].expand(2, -1, -1), drawn[1]
    found = r_drop_loss(logits, targets, smoothing=0.1, spread="others", weight=weight)
    one = smoothed_cross_entropy(logits[0], targets, smoothing=0.1, spread="others")
    torch.testing.assert_close(found, one, rtol=1e-5, atol=1e-3)
