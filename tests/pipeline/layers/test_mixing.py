"""Attention by batched products equals its definition, its gradient that of plain operations."""

import math

import pytest
import torch

from pipeline.layers import mixing
from pipeline.layers.attention import MultiHeadAttention
from pipeline.layers.dropout import draw
from pipeline.layers.mixing import EVEN, Mixing, bias_of

B, H, T, S, K = 3, 2, 4, 5, 6
MASK = (torch.arange(S) < torch.tensor([5, 2, 1])[:, None])[:, None, None]


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("mask", "causal"), [(MASK, False), (None, True), (None, False)])
def test_the_definition_and_its_gradient(mask, causal):
    torch.manual_seed(1)
    query, key, value = drawn(B, H, T, K), drawn(B, H, T if causal else S, K), drawn(B, H, T if causal else S, K)
    given, bias = torch.randn(B, H, T, K, dtype=torch.float64), bias_of(query, mask, causal=causal)
    torch.manual_seed(2)
    out = Mixing.apply(query, key, value, bias, 0.4)
    found = torch.autograd.grad(out, (query, key, value), given)

    scores = torch.einsum("bhtk,bhsk->bhts", query, key) / math.sqrt(K)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if causal:
        scores = scores.masked_fill(torch.arange(T)[None] > torch.arange(T)[:, None], -math.inf)
    torch.manual_seed(2)
    kept = draw(torch.Size([EVEN * H, EVEN, EVEN]), 0.4, torch.float64)[: B * H, :T, : key.shape[2]]
    expected = torch.einsum("bhts,bhsk->bhtk", scores.softmax(3) * kept.view_as(scores) / 0.6, value)
    torch.testing.assert_close(out, expected)
    for got, wanted in zip(found, torch.autograd.grad(expected, (query, key, value), given), strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(("target", "source"), [(1, EVEN), (EVEN, EVEN + 1), (EVEN + 1, 2 * EVEN), (40, 3)])
def test_lengths_about_the_multiple(target, source, keeping_all):
    torch.manual_seed(4)
    query, key, value = drawn(B, H, target, K), drawn(B, H, source, K), drawn(B, H, source, K)
    given = torch.randn(B, H, target, K, dtype=torch.float64)
    out = Mixing.apply(query, key, value, None, 0.0)
    found = torch.autograd.grad(out, (query, key, value), given)
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(out, expected)
    for got, wanted in zip(found, torch.autograd.grad(expected, (query, key, value), given), strict=True):
        torch.testing.assert_close(got, wanted)


def test_products_have_few_sizes(monkeypatch):
    """Of 48 lengths and numbers of sentences six: what oneDNN holds for each size it holds for good."""
    sizes, times = set(), mixing.times

    def spied(a, b, scale):
        sizes.add((a.shape, b.shape))
        return times(a, b, scale)

    monkeypatch.setattr(mixing, "times", spied)
    for length in range(1, 3 * EVEN + 1):
        query = torch.randn(1 + length % (2 * EVEN), 1, length, 8, dtype=torch.bfloat16, requires_grad=True)
        Mixing.apply(query, query, query, None, 0.1).sum().backward()
    assert len(sizes) == 3 * 2 * 2  # (T, E) by (E, T) and (T, T) by (T, E), of 16 or 32 sentences


@pytest.fixture
def keeping_all(monkeypatch):
    """Nothing is drawn away; the shapes of the masks asked for."""
    asked = []
    monkeypatch.setattr(
        mixing, "draw", lambda shape, _, dtype: asked.append(tuple(shape)) or torch.ones(shape, dtype=dtype)
    )
    return asked


@pytest.mark.parametrize("how", ["masked", "causal", "to the source"])
def test_bf16_is_near_fp32(how, keeping_all):
    """In training, by way of strides that are not contiguous; elsewhere torch's own attention is used."""
    torch.manual_seed(3)
    attention, given = MultiHeadAttention(16, 4, 1e-9), torch.randn(B, T, 16)
    x, memory = (torch.randn(B, length, 16, requires_grad=True) for length in (T, S))

    def attend():
        if how == "to the source":
            return attention.look(x, *attention.remember(memory), MASK)
        return attention(x, None if how == "causal" else MASK[..., :T], causal=how == "causal")

    inputs = (x, memory) if how == "to the source" else (x,)
    with torch.autocast("cpu", torch.bfloat16):
        near = attend()
    assert keeping_all == [(EVEN * 4, EVEN, EVEN)]
    exact = attend()
    assert len(keeping_all) == 1
    with torch.autocast("cpu", torch.bfloat16):
        attention.eval()
        attend()
    assert len(keeping_all) == 1
    assert near.dtype == torch.bfloat16
    torch.testing.assert_close(near.float(), exact, rtol=0.02, atol=0.02)
    for got, wanted in zip(
        torch.autograd.grad(near.float(), inputs, given), torch.autograd.grad(exact, inputs, given), strict=True
    ):
        torch.testing.assert_close(got, wanted, rtol=0.05, atol=0.05)


def test_causal_takes_no_mask():
    with pytest.raises(AssertionError, match="causal"):
        bias_of(torch.empty(B, H, T, K), MASK, causal=True)
