"""Attention with dropout in bf16 on a CPU, where torch's own goes by way of fp32 and takes twice as long."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.layers.dropout import draw

EVEN = 16  # sentences, source and target positions of the products are multiples of it


class Mixing(torch.autograd.Function):
    """dropout(softmax(Q K^T / sqrt(E) + bias)) V, of head width E, by batched products of contiguous matrices.

    The scores are rounded to bf16 before the softmax, where torch's own keeps fp32: a weight is off by up to 3 % where
    its score is 10. There must be a position to look at.

    Products have few sizes, as sentences and positions of zeros are added up to multiples of `EVEN` and cut off after:
    oneDNN holds 256 KiB for each size that it ever met, whatever its cache holds, in between the training's tensors.

    Shapes: query (B, H, T, E), keys and values (B, H, S, E), bias (B or 1, 1, T or 1, S) or None -> (B, H, T, E).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rate: float) -> Tensor:
        q, k, v = (filled(x) for x in (query, key, value))
        ctx.scale, ctx.upscale = 1 / math.sqrt(query.shape[3]), 1 / (1 - rate)
        ctx.shapes = query.shape, key.shape
        with torch.autocast("cpu", enabled=False):
            scores = times(q, k.transpose(1, 2), ctx.scale)
            if bias is not None:
                cut(scores, query.shape)[..., : key.shape[2]].add_(bias)
            scores[:, :, key.shape[2] :] = -math.inf
            p = scores.softmax(dim=2)
            kept = draw(p.shape, rate, p.dtype)
            mixed = times(p * kept, v, ctx.upscale)
        ctx.save_for_backward(q, k, v, p, kept)
        return cut(mixed, query.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, p, kept = ctx.saved_tensors
        g = filled(grads[0])
        g_value = times((p * kept).transpose(1, 2), g, ctx.upscale)
        g_p = times(g, v.transpose(1, 2), ctx.upscale).mul_(kept)
        g_scores = torch.ops.aten._softmax_backward_data(g_p, p, 2, p.dtype)
        g_query, g_key = times(g_scores, k, ctx.scale), times(g_scores.transpose(1, 2), q, ctx.scale)
        query, key = ctx.shapes
        return cut(g_query, query), cut(g_key, key), cut(g_value, key), None, None


def filled(x: Tensor) -> Tensor:
    """All heads of all sentences, with zeros up to multiples of `EVEN`: (B, H, T, E) -> (B' * H, T', E)."""
    x = F.pad(x, (0, 0, 0, -x.shape[2] % EVEN, 0, 0, 0, -x.shape[0] % EVEN))
    return x.reshape(-1, *x.shape[2:])


def cut(x: Tensor, shape: torch.Size) -> Tensor:
    """What `filled` did not add to a tensor of `shape`, (B, H, T, E): (B' * H, T', S) -> (B, H, T, S)."""
    return x.view(-1, shape[1], *x.shape[1:])[: shape[0], :, : shape[2]]


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
