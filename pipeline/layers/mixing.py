"""Attention with dropout in bf16 on a CPU, where torch's own goes by way of fp32 and takes twice as long."""

import math
from typing import Any

import torch
from torch import Tensor

from pipeline.layers.dropout import draw


class Mixing(torch.autograd.Function):
    """dropout(softmax(Q K^T / sqrt(E) + bias)) V, of head width E, by batched products of contiguous matrices.

    The scores are rounded to bf16 before the softmax, where torch's own keeps fp32: a weight is off by up to 3 % where
    its score is 10. There must be a position to look at.

    Shapes: query (B, H, T, E), keys and values (B, H, S, E), bias (B or 1, 1, T or 1, S) or None -> (B, H, T, E).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rate: float) -> Tensor:
        batch, heads, _, width = query.shape
        q, k, v = (x.reshape(batch * heads, -1, width) for x in (query, key, value))
        ctx.scale, ctx.upscale, ctx.heads = 1 / math.sqrt(width), 1 / (1 - rate), heads
        with torch.autocast("cpu", enabled=False):
            scores = times(q, k.transpose(1, 2), ctx.scale)
            if bias is not None:
                scores.view(batch, heads, *scores.shape[1:]).add_(bias)
            p = scores.softmax(dim=2)
            kept = draw(p.shape, rate, p.dtype)
            mixed = times(p * kept, v, ctx.upscale)
        ctx.save_for_backward(q, k, v, p, kept)
        return mixed.view(query.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, p, kept = ctx.saved_tensors
        g = grads[0].reshape(q.shape)
        g_value = times((p * kept).transpose(1, 2), g, ctx.upscale)
        g_p = times(g, v.transpose(1, 2), ctx.upscale).mul_(kept)
        g_scores = torch.ops.aten._softmax_backward_data(g_p, p, 2, p.dtype)
        g_query, g_key = times(g_scores, k, ctx.scale), times(g_scores.transpose(1, 2), q, ctx.scale)
        return *(x.view(-1, ctx.heads, *x.shape[1:]) for x in (g_query, g_key, g_value)), None, None


def times(a: Tensor, b: Tensor, scale: float) -> Tensor:
    """scale * A B: (N, T, E), (N, E, S) -> (N, T, S)."""
    return torch.baddbmm(a.new_empty(1), a, b, beta=0, alpha=scale)


def bias_of(query: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor | None:
    """0 where a position may be seen, -inf elsewhere; None where all may. With `causal` there is no mask.

    Shapes: query (B, H, T, E), mask (B, 1, 1, S) with True where it may -> the same; causal -> (1, 1, T, T).
    """
    if causal:
        assert mask is None, "causal attention takes no mask"
        return query.new_full((1, 1, query.shape[2], query.shape[2]), -math.inf).triu(1)
    return None if mask is None else query.new_zeros(mask.shape).masked_fill_(~mask, -math.inf)
