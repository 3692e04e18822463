"""x W^T + b where oneDNN would compile a kernel for every number of rows that it meets."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

STEP = 256  # rows of the first product are a multiple of it
REST = 64  # and of the second, which has the rows that are left, and rows of zeros


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b; under autocast to bf16 on a CPU by products of few sizes.

    A batch hardly ever has as many positions as one before it, and oneDNN compiles three kernels of bf16 for each
    number of them: with updates of 1,500 positions that took two fifths of a training on a CPU with AMX.

    Shapes: x (..., D), weight (F, D), bias (F,) -> (..., F).
    """
    in_bf16 = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    if in_bf16 and x.device.type == "cpu":
        return Pieces.apply(x, weight, bias)
    return F.linear(x, weight, bias)


class Pieces(torch.autograd.Function):
    """x W^T + b and its gradient, in bf16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows, matrix = x.to(torch.bfloat16).reshape(-1, x.shape[-1]), weight.to(torch.bfloat16)
        ctx.save_for_backward(rows, matrix)
        ctx.shape, ctx.dtype, ctx.has_bias = x.shape, x.dtype, bias is not None
        out = times(rows, matrix.t(), None if bias is None else bias.to(torch.bfloat16))
        return out.view(*x.shape[:-1], len(matrix))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        rows, matrix = ctx.saved_tensors
        g = grads[0].reshape(-1, len(matrix))
        g_x = times(g, matrix).view(ctx.shape).to(ctx.dtype)
        return g_x, summed(g, rows), g.sum(dim=0).float() if ctx.has_bias else None


def times(rows: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """Shapes: rows (N, D), matrix (D, F), bias (F,) -> (N, F)."""
    out, even = rows.new_empty(len(rows), matrix.shape[1]), len(rows) // STEP * STEP
    if even:
        multiplied(rows[:even], matrix, bias, out=out[:even])
    if even < len(rows):
        out[even:] = multiplied(filled(rows[even:]), matrix, bias)[: len(rows) - even]
    return out


def multiplied(rows: Tensor, matrix: Tensor, bias: Tensor | None, out: Tensor | None = None) -> Tensor:
    """A single product."""
    return torch.mm(rows, matrix, out=out) if bias is None else torch.addmm(bias, rows, matrix, out=out)


def summed(left: Tensor, right: Tensor) -> Tensor:
    """left^T right, in fp32: (N, F), (N, D) -> (F, D)."""
    even = len(left) // STEP * STEP
    total = torch.mm(left[:even].t(), right[:even])
    if even < len(left):
        total.addmm_(filled(left[even:]).t(), filled(right[even:]))
    return total.float()


def filled(rows: Tensor) -> Tensor:
    """The rows, and rows of zeros up to a multiple of `REST`: (N, D) -> (M, D)."""
    return F.pad(rows, (0, 0, 0, -len(rows) % REST))
