"""Attention by batched products equals its plain twin, in values and gradients."""

import itertools

import pytest
import torch

from pipeline.kernels import attention as kernel
from pipeline.kernels import dispatch
from pipeline.kernels.attention import (
    MULTIPLE,
    Bf16Attention,
    additive_mask,
    bf16_attention,
    padded_scores,
    plain_attention,
)
from pipeline.kernels.dropout import draw_mask

B, H, T, S, K = 3, 2, 4, 5, 6
MASK = (torch.arange(S) < torch.tensor([5, 2, 1])[:, None])[:, None, None]


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def results(function, tensors, *given):
    """The output and the gradients of query, key and value."""
    out = function(*tensors, *given)
    torch.manual_seed(2)
    return out, *torch.autograd.grad(out, tensors, torch.randn(out.shape, dtype=out.dtype))


@pytest.mark.parametrize(("mask", "causal"), [(MASK, False), (None, True), (None, False)])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_kernel_and_twin_agree(mask, causal, rate):
    torch.manual_seed(1)
    query, key, value = drawn(B, H, T, K), drawn(B, H, T if causal else S, K), drawn(B, H, T if causal else S, K)
    keep = draw_mask(padded_scores(query, key), rate, torch.float64) if rate else None
    given = additive_mask(query, mask, causal=causal), keep
    ours, twins = (
        results(function, (query, key, value), *given, 1 / (1 - rate))
        for function in (Bf16Attention.apply, plain_attention)
    )
    torch.testing.assert_close(ours, twins)


def test_the_twin_without_dropout_is_torchs_attention():
    torch.manual_seed(1)
    query, key, value = drawn(B, H, T, K), drawn(B, H, S, K), drawn(B, H, S, K)
    found = plain_attention(query, key, value, additive_mask(query, MASK, causal=False), None, 1.0)
    torch.testing.assert_close(found, torch.nn.functional.scaled_dot_product_attention(query, key, value, MASK))


@pytest.mark.parametrize(
    ("sentences", "filled", "target", "source"), [(1, 1, 1, 16), (3, 4, 16, 17), (9, 16, 17, 32), (48, 48, 4, 5)]
)
def test_sentences_and_positions_are_filled_up(sentences, filled, target, source):
    """Few sentences are long ones: filled up to 16, one of 256 positions took 16 times as long."""
    torch.manual_seed(5)
    query, key, value = drawn(sentences, H, target, K), drawn(sentences, H, source, K), drawn(sentences, H, source, K)
    keep = draw_mask(padded_scores(query, key), 0.3, torch.float64)
    assert keep.shape[0] == filled * H
    assert keep.shape[1] % MULTIPLE == keep.shape[2] % MULTIPLE == 0
    ours, twins = (
        results(function, (query, key, value), None, keep, 1 / 0.7)
        for function in (Bf16Attention.apply, plain_attention)
    )
    torch.testing.assert_close(ours, twins)


def test_the_mask_is_drawn_from_torchs_generator():
    """And nothing is drawn without dropout: every mask that comes after it would be another."""
    query = torch.randn(B, H, T, K, dtype=torch.bfloat16)
    first, again, other = (
        (torch.manual_seed(seed), bf16_attention(query, query, query, None, 0.5))[1] for seed in (5, 5, 6)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    state = torch.get_rng_state()
    bf16_attention(query, query, query, None, 0.0)
    assert torch.equal(torch.get_rng_state(), state)


def test_products_have_few_sizes(monkeypatch):
    """Of 1,536 lengths and numbers of sentences 18: what oneDNN holds for each size it holds for good."""
    sizes, bmm = set(), kernel.scaled_bmm

    def spied(a, b, scale):
        sizes.add((a.shape, b.shape))
        return bmm(a, b, scale)

    monkeypatch.setattr(kernel, "scaled_bmm", spied)
    for length, sentences in itertools.product(range(1, 3 * MULTIPLE + 1), range(1, 2 * MULTIPLE + 1)):
        query = torch.randn(sentences, 1, length, 8, dtype=torch.bfloat16, requires_grad=True)
        bf16_attention(query, query, query, None, 0.1).sum().backward()
    assert len(sizes) == 3 * 6 * 2  # (T, E) by (E, T) and (T, T) by (T, E), of 1, 2, 4, 8, 16 or 32 sentences


@pytest.mark.parametrize("mask", [MASK, None])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rate", [0.0, 1e-9])
@pytest.mark.parametrize("scale", [1.0, 3.0])  # scores of a few units, and of up to 30
def test_bf16_is_near_fp32(mask, causal, rate, scale):
    """By way of strides that are not contiguous, as heads have them; one in a billion weights is dropped, or none."""
    torch.manual_seed(3)
    length = T if causal else S
    tensors = [torch.randn(B, size, H, K).mul(scale).transpose(1, 2) for size in (T, length, length)]
    near = [tensor.bfloat16().requires_grad_() for tensor in tensors]
    exact = [tensor.detach().float().requires_grad_() for tensor in near]
    mask = None if causal else mask
    found = results(lambda *qkv: bf16_attention(*qkv, additive_mask(qkv[0], mask, causal=causal), rate), near)
    expected = results(
        lambda *qkv: dispatch.scaled_dot_product_attention(*qkv, mask, dropout=0.0, causal=causal), exact
    )
    assert found[0].dtype == torch.bfloat16
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got.float(), wanted, rtol=0.05, atol=0.05 * scale * scale)
