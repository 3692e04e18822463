"""Cross-entropy whose loss and gradient are computed together, in blocks that fit the processor's cache."""

from typing import Any

import torch
from torch import Tensor

from ...common import ids

BLOCK_ROWS = 128  # computed at a time on a CPU: 128 rows of 8,000 logits in fp32 are 4 MB


class SmoothedCrossEntropy(torch.autograd.Function):
    """Sum of -q log p over the rows; q is `gold` for the target, `padding` for PAD, `other` for every other piece.

    The gradient, softmax - q, is saved in the precision of the logits: there is no other copy of them.

    Shapes: logits (N, V), targets (N,) -> scalar, fp32.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, gold: float, other: float, padding: float) -> Tensor:
        gradient = torch.empty_like(logits)
        total = torch.zeros((), device=logits.device)
        size = BLOCK_ROWS if logits.device.type == "cpu" else len(logits)
        for begin in range(0, len(logits), size):
            rows = slice(begin, begin + size)
            total += block_loss(logits[rows], targets[rows, None], (gold, other, padding), gradient[rows])
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The saved gradient, scaled in place; safe, as torch refuses a second backward through the same graph."""
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(grads[0]), None, None, None, None


def block_loss(logits: Tensor, targets: Tensor, q: tuple[float, float, float], gradient: Tensor) -> Tensor:
    """The loss of a block of rows; writes their gradient into `gradient`: (N, V), (N, 1), (N, V) -> scalar.

    log p = z - log sum exp z; log sum exp z is taken from the likeliest piece, as max z - log max p.
    """
    gold, other, padding = q
    z = logits.float()
    p = torch.softmax(z, dim=1)
    norm = logits.amax(dim=1, keepdim=True).float() - p.amax(dim=1, keepdim=True).log()  # log sum exp z: (N, 1)
    loss = (other - gold) * (z.gather(1, targets) - norm).sum()
    if other:
        pieces = z[:, : ids.PAD].sum() + z[:, ids.PAD + 1 :].sum()
        loss -= other * (pieces - (z.shape[1] - 1) * norm.sum())
        if padding:
            loss -= padding * (z[:, ids.PAD : ids.PAD + 1] - norm).sum()
        p -= other
        p[:, ids.PAD] += other - padding
    gradient.copy_(p.scatter_add_(1, targets, p.new_full(targets.shape, other - gold)))
    return loss
