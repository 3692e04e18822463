"""The losses and their gradients against plain twins, and R-Drop by hand."""

import math

import pytest
import torch
from torch.nn import functional as F

from pipeline.compute import ids
from pipeline.training.loss import PAIRS_OF_ROWS, masses, r_drop_loss, smoothed_cross_entropy

N, V = 2 * PAIRS_OF_ROWS + 9, 23


def plain_cross_entropy(logits, targets, *, smoothing, spread):
    log_p = F.log_softmax(logits.float(), dim=1)
    gold, other, padding = masses(V, smoothing, spread)
    q = torch.full_like(log_p, other)
    q[:, ids.PAD] = padding
    q.scatter_(1, targets[:, None], gold)
    return -(q * log_p).sum()


def plain_r_drop(logits, targets, *, weight, **smoothing):
    log_p = logits.float().log_softmax(dim=2)
    divergence = ((log_p[0].exp() - log_p[1].exp()) * (log_p[0] - log_p[1])).sum()
    entropies = [plain_cross_entropy(of_pass, targets, **smoothing) for of_pass in logits]
    return (entropies[0] + entropies[1]) / 2 + weight / 4 * divergence


def with_gradient(loss, logits, targets, **kwargs):
    logits = logits.detach().clone().requires_grad_()
    value = loss(logits, targets, **kwargs)
    (value / 7).backward()
    return value.detach(), logits.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("spread", ["all", "others"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    ("loss", "twin", "shape", "weight"),
    [
        (smoothed_cross_entropy, plain_cross_entropy, (N, V), {}),
        *((r_drop_loss, plain_r_drop, (2, N, V), {"weight": weight}) for weight in (0.0, 5.0)),
    ],
)
def test_a_loss_and_its_twin_agree(loss, twin, shape, weight, smoothing, spread, dtype):
    torch.manual_seed(1)
    logits, targets = (3 * torch.randn(shape)).to(dtype), torch.randint(1, V, (N,))
    kwargs = {"smoothing": smoothing, "spread": spread, **weight}
    value, gradient = with_gradient(loss, logits, targets, **kwargs)
    expected, expected_gradient = with_gradient(twin, logits.float(), targets, **kwargs)
    assert gradient.dtype == dtype
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-2)
    rtol = 2e-2 if dtype == torch.bfloat16 else 1e-4
    torch.testing.assert_close(gradient.float(), expected_gradient, rtol=rtol, atol=1e-3 if rtol > 1e-3 else 1e-6)


@pytest.mark.parametrize("weight", [0.0, 1.0, 5.0])
def test_r_drop_by_hand(weight):
    """Two pieces: (1/2, 1/2) and (1/4, 3/4), the first of them right; KL(P1 || P2) + KL(P2 || P1) is ln(3) / 4."""
    logits = torch.tensor([[[0.5, 0.5]], [[0.25, 0.75]]]).log() + 3.0  # a shift changes nothing
    entropy = (math.log(2) + math.log(4)) / 2
    loss = r_drop_loss(logits, torch.tensor([0]), smoothing=0.0, spread="all", weight=weight)
    assert float(loss) == pytest.approx(entropy + weight / 4 * math.log(3) / 4, abs=1e-6)
