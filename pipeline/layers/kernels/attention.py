"""Attention for training in bf16 on a CPU, quicker than torch's own.

With dropout, torch's own goes by way of fp32 and takes twice as long. Without, the gradients of its fused kernel take
most of the time: of 16 sentences and 16 positions it takes four times as long as this, of 48 and 256 1.3 times.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .dropout import draw_mask

MULTIPLE = 16  # sentences, source and target positions are filled up to multiples of it; fewer sentences to 1, 2, 4, 8


def bf16_attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rate: float) -> Tensor:
    """dropout(softmax(Q K^T / sqrt(K) + bias)) V; nothing is drawn if `rate` is 0.

    Shapes: query (B, H, T, K), key and value (B, H, S, K), bias (B or 1, 1, T or 1, S) or None -> (B, H, T, K).
    """
    keep = draw_mask(padded_scores(query, key), rate, query.dtype) if rate else None
    return Bf16Attention.apply(query, key, value, bias, keep, 1 / (1 - rate))


class Bf16Attention(torch.autograd.Function):
    """Attention by batched products of contiguous matrices; `keep` is a mask of shape `padded_scores`, or None.

    The scores are rounded to bf16 before the softmax, where torch's own keeps fp32: a weight is off by up to 3 % if
    its score is 10. There must be a position to look at.

    Products have few sizes: sentences and positions of zeros are added, as `filled` and `MULTIPLE` say, and cropped
    afterwards. oneDNN holds 256 KiB for each size it ever met, whatever its cache holds, in between the training's
    tensors.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, keep: Tensor | None, upscale: float
    ) -> Tensor:
        q, k, v = (pad(x) for x in (query, key, value))
        ctx.scale, ctx.upscale = 1 / math.sqrt(query.shape[3]), upscale
        ctx.shapes = query.shape, key.shape
        with torch.autocast("cpu", enabled=False):
            scores = scaled_bmm(q, k.transpose(1, 2), ctx.scale)
            if bias is not None:
                crop(scores, query.shape)[..., : key.shape[2]].add_(bias)
            scores[:, :, key.shape[2] :] = -math.inf
            weights = scores.softmax(dim=2)
            out = scaled_bmm(weights if keep is None else weights * keep, v, ctx.upscale)
        ctx.save_for_backward(q, k, v, weights, keep)
        return crop(out, query.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, keep = ctx.saved_tensors
        grad = pad(grads[0])
        kept = weights if keep is None else weights * keep
        grad_value = scaled_bmm(kept.transpose(1, 2), grad, ctx.upscale)
        grad_weights = scaled_bmm(grad, v.transpose(1, 2), ctx.upscale)
        if keep is not None:
            grad_weights.mul_(keep)
        grad_scores = torch.ops.aten._softmax_backward_data(grad_weights, weights, 2, weights.dtype)
        grad_query = scaled_bmm(grad_scores, k, ctx.scale)
        grad_key = scaled_bmm(grad_scores.transpose(1, 2), q, ctx.scale)
        query, key = ctx.shapes
        return crop(grad_query, query), crop(grad_key, key), crop(grad_value, key), None, None, None


def padded_scores(query: Tensor, key: Tensor) -> torch.Size:
    """The shape of the scores in the kernel: (B, H, T, K), (B, H, S, K) -> (B' * H, T', S')."""
    targets, sources = (size + -size % MULTIPLE for size in (query.shape[2], key.shape[2]))
    return torch.Size((filled(query.shape[0]) * query.shape[1], targets, sources))


def filled(sentences: int) -> int:
    """The number of sentences that the kernel computes for so many."""
    return 1 << (sentences - 1).bit_length() if sentences < MULTIPLE else sentences + -sentences % MULTIPLE


def pad(x: Tensor) -> Tensor:
    """All heads of all sentences, with zeros for those that are added: (B, H, T, K) -> (B' * H, T', K)."""
    x = F.pad(x, (0, 0, 0, -x.shape[2] % MULTIPLE, 0, 0, 0, filled(x.shape[0]) - x.shape[0]))
    return x.reshape(-1, *x.shape[2:])


def crop(x: Tensor, shape: torch.Size) -> Tensor:
    """Undoes `pad` of a tensor of `shape`, (B, H, T, K): (B' * H, T', S) -> (B, H, T, S)."""
    return x.view(-1, shape[1], *x.shape[1:])[: shape[0], :, : shape[2]]


def scaled_bmm(a: Tensor, b: Tensor, scale: float) -> Tensor:
    """scale * A B: (N, T, K), (N, K, S) -> (N, T, S)."""
    return torch.baddbmm(a.new_empty(1), a, b, beta=0, alpha=scale)


def additive_mask(query: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor | None:
    """0 where a position may be seen, minus infinity elsewhere; None if all may. With `causal` there is no mask.

    Shapes: query (B, H, T, K), mask (B, 1, 1, S) with True where it may -> the same; causal -> (1, 1, T, T).
    """
    if causal:
        assert mask is None, "causal attention takes no mask"
        return query.new_full((1, 1, query.shape[2], query.shape[2]), -math.inf).triu(1)
    return None if mask is None else query.new_zeros(mask.shape).masked_fill_(~mask, -math.inf)
