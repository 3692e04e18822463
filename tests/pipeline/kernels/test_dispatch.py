"""Which kernel runs where; what they compute is tested beside each of them."""

import pytest
import torch
from torch.nn import functional as F

from pipeline.kernels import dispatch


def has_kernel(tensor: torch.Tensor) -> bool:
    """Whether one of our autograd Functions made it."""
    return type(tensor.grad_fn).__name__ in {"MaskedDropoutBackward", "Bf16LinearBackward"}


@pytest.fixture
def x():
    torch.manual_seed(1)
    return torch.randn(3, 4, requires_grad=True)


def test_dropout_has_a_kernel_in_training(x):
    assert has_kernel(dispatch.dropout(x, 0.5, training=True))
    assert not has_kernel(dispatch.dropout(x, 0.5, training=False))
    assert not has_kernel(dispatch.dropout(x, 0.0, training=True))


def test_other_devices_have_torchs_dropout():
    x = torch.empty(3, 4, device="meta", requires_grad=True)
    assert not has_kernel(dispatch.dropout(x, 0.5, training=True))


def test_linear_has_a_kernel_under_autocast_to_bf16(x):
    weight, bias = torch.randn(5, 4, requires_grad=True), torch.randn(5)
    assert torch.equal(dispatch.linear(x, weight, bias), F.linear(x, weight, bias))
    with torch.autocast("cpu", torch.bfloat16):
        assert has_kernel(dispatch.linear(x, weight, bias))
    with torch.autocast("cpu", torch.float16):
        assert not has_kernel(dispatch.linear(x, weight, bias))


FREE, FROZEN = {"requires_grad": True}, {"requires_grad": False}


@pytest.mark.parametrize(
    ("dtype", "device", "rate", "grad", "leaf", "expected"),
    [
        *[(torch.float32, "cpu", rate, grad, FREE, False) for rate in (0.0, 0.5) for grad in (False, True)],
        (torch.bfloat16, "cpu", 0.0, True, FREE, True),
        (torch.bfloat16, "cpu", 0.0, False, FREE, False),
        (torch.bfloat16, "cpu", 0.0, True, FROZEN, False),
        (torch.bfloat16, "cpu", 0.5, True, FREE, True),
        (torch.bfloat16, "cpu", 0.5, False, FREE, True),
        (torch.bfloat16, "meta", 0.0, True, FREE, False),
        (torch.bfloat16, "meta", 0.5, True, FREE, False),
    ],
)
def test_attention_has_a_kernel_for_training_in_bf16(monkeypatch, dtype, device, rate, grad, leaf, expected):
    called = []
    monkeypatch.setattr(dispatch, "bf16_attention", lambda *given: called.append(given))
    query = torch.empty(1, 2, 3, 4, dtype=dtype, device=device, **leaf)
    with torch.set_grad_enabled(grad):
        dispatch.scaled_dot_product_attention(query, query, query, None, dropout=rate, causal=True)
    assert bool(called) == expected
