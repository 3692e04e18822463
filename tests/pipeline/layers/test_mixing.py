"""Attention by batched products equals its definition, its gradient that of plain operations."""

import math

import pytest
import torch

from pipeline.layers import mixing
from pipeline.layers.attention import MultiHeadAttention
from pipeline.layers.dropout import draw
from pipeline.layers.mixing import Mixing, bias_of

B, H, T, S, K = 3, 2, 4, 5, 6
MASK = (torch.arange(S) < torch.tensor([5, 2, 1])[:, None])[:, None, None]


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("mask", "causal"), [(MASK, None), (None, 4), (None, None)])
def test_the_definition_and_its_gradient(mask, causal):
    torch.manual_seed(1)
    query, key, value = drawn(B, H, T, K), drawn(B, H, T if causal else S, K), drawn(B, H, T if causal else S, K)
    given, bias = torch.randn(B, H, T, K, dtype=torch.float64), bias_of(mask, causal, torch.float64)
    torch.manual_seed(2)
    out = Mixing.apply(query, key, value, bias, 0.4)
    found = torch.autograd.grad(out, (query, key, value), given)

    scores = torch.einsum("bhtk,bhsk->bhts", query, key) / math.sqrt(K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if causal:
        scores = scores.masked_fill(torch.arange(T)[None] > torch.arange(T)[:, None], -math.inf)
    torch.manual_seed(2)
    kept = draw(torch.Size([B * H, T, key.shape[2]]), 0.4, torch.float64).view_as(scores)
    expected = torch.einsum("bhts,bhsk->bhtk", scores.softmax(3) * kept / 0.6, value)
    torch.testing.assert_close(out, expected)
    for got, wanted in zip(found, torch.autograd.grad(expected, (query, key, value), given), strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("causal", [False, True])
def test_bf16_is_near_fp32(causal, monkeypatch):
    """As both draw nothing away here, and by way of strides that are not contiguous."""
    monkeypatch.setattr(mixing, "draw", lambda shape, _, dtype: torch.ones(shape, dtype=dtype))
    torch.manual_seed(3)
    attention, x = MultiHeadAttention(16, 4, 1e-9), torch.randn(B, S, 16, requires_grad=True)
    mask = None if causal else MASK
    with torch.autocast("cpu", torch.bfloat16):
        near = attention(x, mask, causal=causal)
    exact = attention.eval()(x, mask, causal=causal)
    given = torch.randn(B, S, 16)
    [g_near] = torch.autograd.grad(near.float(), x, given)
    [g_exact] = torch.autograd.grad(exact, x, given)
    torch.testing.assert_close(near.float(), exact, rtol=0.02, atol=0.02)
    torch.testing.assert_close(g_near, g_exact, rtol=0.05, atol=0.05)
    assert near.dtype == torch.bfloat16
