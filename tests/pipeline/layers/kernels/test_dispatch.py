"""Which kernel runs where; what they compute is tested beside each of them."""

import pytest
import torch

from pipeline.layers.kernels import dispatch


def has_kernel(tensor):
    """Whether one of our autograd Functions made it."""
    return type(tensor.grad_fn).__name__ in {"MaskedDropoutBackward", "Bf16LinearBackward"}


@pytest.mark.parametrize(("device", "rate", "training", "expected"), [
    ("cpu", 0.5, True, True), ("cpu", 0.5, False, False), ("cpu", 0.0, True, False), ("meta", 0.5, True, False)
])  # fmt: skip
def test_dropout_has_a_kernel_in_training_on_a_cpu(device, rate, training, expected):
    x = torch.empty(3, 4, device=device, requires_grad=True)
    assert has_kernel(dispatch.dropout(x, rate, training=training)) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_linear_has_a_kernel_under_autocast_to_bf16(dtype):
    x, weight, bias = (torch.randn(size, requires_grad=True) for size in ((3, 4), (5, 4), (5,)))
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        assert has_kernel(dispatch.linear(x, weight, bias)) == (dtype == torch.bfloat16)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_prepacked_products_keep_the_dtype(dtype):
    x, weight, bias = (torch.randn(size).to(dtype) for size in ((3, 4), (5, 4), (5,)))
    torch.testing.assert_close(dispatch.prepack_linear(weight, bias)(x), torch.nn.functional.linear(x, weight, bias))


FREE, FROZEN = {"requires_grad": True}, {"requires_grad": False}


@pytest.mark.parametrize(
    ("dtype", "device", "rate", "grad", "leaf", "expected"),
    [
        *[(torch.float32, "cpu", rate, grad, FREE, False) for rate in (0.0, 0.5) for grad in (False, True)],
        (torch.bfloat16, "cpu", 0.0, True, FREE, True),
        (torch.bfloat16, "cpu", 0.0, False, FREE, False),
        (torch.bfloat16, "cpu", 0.0, True, FROZEN, False),
        (torch.bfloat16, "cpu", 0.5, False, FREE, True),
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
