"""x W^T + b in bf16, by products of few sizes.

oneDNN compiles three kernels of bf16 for each number of rows that it meets, and a batch hardly ever has as many
positions as one before it: with updates of 1,500 positions that took two fifths of a training on a CPU with AMX.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

BLOCK = 256  # the first product has a multiple of it in rows
REMAINDER = 64  # the second has the rows that are left, filled up with zeros to a multiple of it


class Bf16Linear(torch.autograd.Function):
    """x W^T + b and its gradients, computed in bf16; the gradient of x has its dtype, the others are given in fp32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows, matrix = x.to(torch.bfloat16).reshape(-1, x.shape[-1]), weight.to(torch.bfloat16)
        ctx.save_for_backward(rows, matrix)
        ctx.shape, ctx.dtype, ctx.has_bias = x.shape, x.dtype, bias is not None
        out = blockwise_mm(rows, matrix.t(), None if bias is None else bias.to(torch.bfloat16))
        return out.view(*x.shape[:-1], len(matrix))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        rows, matrix = ctx.saved_tensors
        grad = grads[0].reshape(-1, len(matrix))
        grad_x = blockwise_mm(grad, matrix).view(ctx.shape).to(ctx.dtype)
        return grad_x, transposed_mm(grad, rows), grad.sum(dim=0).float() if ctx.has_bias else None


def blockwise_mm(rows: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """Shapes: rows (N, D), matrix (D, F), bias (F,) -> (N, F)."""
    out, whole = rows.new_empty(len(rows), matrix.shape[1]), len(rows) // BLOCK * BLOCK
    if whole:
        mm(rows[:whole], matrix, bias, out=out[:whole])
    if whole < len(rows):
        out[whole:] = mm(pad_rows(rows[whole:]), matrix, bias)[: len(rows) - whole]
    return out


def mm(rows: Tensor, matrix: Tensor, bias: Tensor | None, out: Tensor | None = None) -> Tensor:
    """One product, with a bias or without."""
    return torch.mm(rows, matrix, out=out) if bias is None else torch.addmm(bias, rows, matrix, out=out)


def transposed_mm(left: Tensor, right: Tensor) -> Tensor:
    """left^T right, computed in bf16 and given in fp32: (N, F), (N, D) -> (F, D)."""
    whole = len(left) // BLOCK * BLOCK
    total = torch.mm(left[:whole].t(), right[:whole])
    if whole < len(left):
        total.addmm_(pad_rows(left[whole:]).t(), pad_rows(right[whole:]))
    return total.float()


def pad_rows(rows: Tensor) -> Tensor:
    """The rows, then rows of zeros up to a multiple of `REMAINDER`: (N, D) -> (M, D)."""
    return F.pad(rows, (0, 0, 0, -len(rows) % REMAINDER))
