"""The kernel is its twin in plain torch; tests/pipeline/training/test_learning.py has the rest."""

import pytest
import torch

from pipeline.kernels.cross_entropy import SmoothedCrossEntropy, plain_cross_entropy
from pipeline.training.loss import masses


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("spread", ["all", "others"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_kernel_and_twin_agree(smoothing, spread, dtype):
    torch.manual_seed(1)
    logits, targets = (3 * torch.randn(300, 19)).to(dtype).requires_grad_(), torch.randint(1, 19, (300,))
    q = masses(19, smoothing, spread)
    found, expected = SmoothedCrossEntropy.apply(logits, targets, *q), plain_cross_entropy(logits, targets, *q)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-3)
    gradients = (torch.autograd.grad(loss, logits)[0] for loss in (found, expected))
    torch.testing.assert_close(*gradients, rtol=1e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-5)
