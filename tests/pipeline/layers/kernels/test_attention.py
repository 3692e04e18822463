"""Attention by batched products equals its plain twin, in values and gradients."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from pipeline.layers.kernels import attention as kernel
from pipeline.layers.kernels import dispatch
from pipeline.layers.kernels.attention import (
    MULTIPLE,
    Bf16Attention,
    additive_mask,
    bf16_attention,
    crop,
    padded_scores,
)
from pipeline.layers.kernels.dropout import draw_mask

B, H, T, S, K = 3, 2, 4, 5, 6
MASK = (torch.arange(S) < torch.tensor([5, 2, 1])[:, None])[:, None, None]


def plain_attention(query, key, value, bias, keep, upscale):
    """The twin of `Bf16Attention`; it cuts `keep` to the size of the scores."""
    scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
    weights = (scores if bias is None else scores + bias).softmax(dim=3)
    kept = weights if keep is None else weights * crop(keep, query.shape)[..., : key.shape[2]] * upscale
    return kept @ value


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def results(function, tensors, *given):
    """The output and the gradients of query, key and value."""
    out = function(*tensors, *given)
    torch.manual_seed(2)
    return out, *torch.autograd.grad(out, tensors, torch.randn(out.shape, dtype=out.dtype))


def check_twin(tensors, mask, rate):
    """The kernel and its twin agree; returns the dropout mask."""
    keep = draw_mask(padded_scores(*tensors[:2]), rate, torch.float64) if rate else None
    found, expected = (
        results(function, tensors, mask, keep, 1 / (1 - rate)) for function in (Bf16Attention.apply, plain_attention)
    )
    torch.testing.assert_close(found, expected)
    return keep


@pytest.mark.parametrize(("mask", "causal"), [(MASK, False), (None, True), (None, False)])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_kernel_and_twin_agree(mask, causal, rate):
    torch.manual_seed(1)
    tensors = drawn(B, H, T, K), drawn(B, H, T if causal else S, K), drawn(B, H, T if causal else S, K)
    check_twin(tensors, additive_mask(tensors[0], mask, causal=causal), rate)


def test_the_twin_without_dropout_is_torchs_attention():
    torch.manual_seed(1)
    query, key, value = drawn(B, H, T, K), drawn(B, H, S, K), drawn(B, H, S, K)
    found = plain_attention(query, key, value, additive_mask(query, MASK, causal=False), None, 1.0)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(query, key, value, MASK))


@pytest.mark.parametrize(("target", "source"), [(1, 16), (16, 17), (17, 32), (40, 3)])
def test_lengths_around_the_multiple(target, source):
    torch.manual_seed(4)
    keep = check_twin((drawn(B, H, target, K), drawn(B, H, source, K), drawn(B, H, source, K)), None, 0.3)
    assert keep.shape[1] % MULTIPLE == keep.shape[2] % MULTIPLE == 0


@pytest.mark.parametrize(("sentences", "expected"), [(1, 1), (3, 4), (9, 16), (16, 16), (17, 32), (48, 48)])
def test_sentences_are_filled_up(sentences, expected):
    """Few sentences are long ones: filled up to 16, one of 256 positions took 16 times as long."""
    torch.manual_seed(5)
    keep = check_twin((drawn(sentences, H, T, K), drawn(sentences, H, S, K), drawn(sentences, H, S, K)), None, 0.3)
    assert keep.shape == (expected * H, MULTIPLE, MULTIPLE)


def test_masks_come_from_torchs_generator_and_without_dropout_none_is_drawn():
    """Or every mask that comes after it would be another."""
    query, outputs = torch.randn(B, H, T, K, dtype=torch.bfloat16), []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        bf16_attention(query, query, query, None, 0.0)
        assert torch.equal(torch.get_rng_state(), torch.manual_seed(seed).get_state())
        outputs.append(bf16_attention(query, query, query, None, 0.5))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_products_have_few_sizes(monkeypatch):
    """Of 1,536 lengths and numbers of sentences 18: what oneDNN holds for each size it holds for good."""
    sizes, bmm = set(), kernel.scaled_bmm

    def spied(a, b, scale):
        sizes.add((a.shape, b.shape))
        return bmm(a, b, scale)

    monkeypatch.setattr(kernel, "scaled_bmm", spied)
    for length, sentences in itertools.product(range(1, 3 * MULTIPLE + 1, 3), range(1, 2 * MULTIPLE + 1)):
        query = torch.randn(sentences, 1, length, 8, dtype=torch.bfloat16, requires_grad=True)
        bf16_attention(query, query, query, None, 0.1).sum().backward()
    assert len(sizes) == 3 * 6 * 2  # (T, E) by (E, T) and (T, T) by (T, E), of 1, 2, 4, 8, 16 or 32 sentences


@pytest.mark.parametrize(("mask", "causal"), [(MASK, False), (None, True)])
@pytest.mark.parametrize("rate", [0.0, 1e-9])
@pytest.mark.parametrize("scale", [1.0, 3.0])  # scores of a few units, and of up to 30
def test_bf16_is_near_fp32(mask, causal, rate, scale):
    """By way of strides that are not contiguous, as heads have them; one in a billion weights is dropped, or none."""
    torch.manual_seed(3)
    length = T if causal else S
    tensors = [torch.randn(B, size, H, K).mul(scale).transpose(1, 2) for size in (T, length, length)]
    near = [tensor.bfloat16().requires_grad_() for tensor in tensors]
    exact = [tensor.detach().float().requires_grad_() for tensor in near]
    found = results(lambda *qkv: bf16_attention(*qkv, additive_mask(qkv[0], mask, causal=causal), rate), near)
    attend = dispatch.scaled_dot_product_attention
    expected = results(lambda *qkv: attend(*qkv, mask, dropout=0.0, causal=causal), exact)
    assert found[0].dtype == torch.bfloat16
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got.float(), wanted, rtol=0.05, atol=0.05 * scale * scale)
