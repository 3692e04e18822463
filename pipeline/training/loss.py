"""The losses of a training, computed together with their gradients, in blocks that fit the processor's cache."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from ..compute import ids

Spread = Literal["all", "others"]
ROWS = 128  # computed at a time on a CPU: 128 rows of 8,000 logits in fp32 are 4 MB
PAIRS_OF_ROWS = 64  # of two passes


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float, spread: Spread) -> Tensor:
    """Sum over real target tokens of the label-smoothed cross-entropy; plain cross-entropy if `smoothing` is 0.

    Shapes: logits (N, V) fp32 or bf16, targets (N,) without padding -> scalar, fp32.
    Units: nats; divide by the number of tokens for a mean.
    Source: Szegedy et al. 2016, section 7, with two readings of its uniform distribution. `all`: every piece receives
        smoothing / V, as in torch. `others`: every piece but the gold one and padding receives smoothing / (V - 2),
        padding 0, as in the Annotated Transformer (whose KL divergence differs by a constant, the target's entropy).
    """
    block_loss = partial(entropy_block, q=masses(logits.shape[1], smoothing, spread))
    return BlockLoss.apply(logits, targets, block_loss, ROWS)


def r_drop_loss(logits: Tensor, targets: Tensor, *, smoothing: float, spread: Spread, weight: float) -> Tensor:
    """Label-smoothed cross-entropy, the mean of two passes, plus weight / 4 times (KL(P1 || P2) + KL(P2 || P1)).

    Shapes: logits (2, N, V) fp32 or bf16, targets (N,) without padding -> scalar, fp32, the sum over tokens.
    Units: nats; divide by the number of tokens for a mean.
    Source: Liang, Wu et al. 2021, `R-Drop`, equation 4, halved, so that it compares with `smoothed_cross_entropy`;
        `weight` is their alpha, 5 in their translation experiments.
    """
    block_loss = partial(r_drop_block, q=masses(logits.shape[2], smoothing, spread), share=weight / 4)
    return BlockLoss.apply(logits, targets, block_loss, PAIRS_OF_ROWS)


def masses(vocab_size: int, smoothing: float, spread: Spread) -> tuple[float, float, float]:
    """Target probability of (the gold piece, any other piece, padding); with `all`, padding is like any other piece."""
    if spread == "all":
        share = smoothing / vocab_size
        return 1 - smoothing + share, share, share
    return 1 - smoothing, smoothing / (vocab_size - 2), 0.0


class BlockLoss(torch.autograd.Function):
    """The sum over the rows of a loss of blocks, which writes the gradient too.

    The gradient is saved in the precision of the logits: there is no other copy of them.

    Shapes: logits (N, V) or (2, N, V), targets (N,) -> scalar, fp32.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, block_loss: Callable[..., Tensor], size: int) -> Tensor:
        gradient = torch.empty_like(logits)
        total = torch.zeros((), device=logits.device)
        size = size if logits.device.type == "cpu" else len(targets)
        for begin in range(0, len(targets), size):
            rows = slice(begin, begin + size)
            total += block_loss(logits[..., rows, :], targets[rows, None], gradient[..., rows, :])
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The saved gradient, scaled in place; safe, as torch refuses a second backward through the same graph."""
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(grads[0]), None, None, None


def entropy_block(logits: Tensor, targets: Tensor, gradient: Tensor, q: tuple[float, float, float]) -> Tensor:
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


def r_drop_block(
    logits: Tensor, targets: Tensor, gradient: Tensor, q: tuple[float, float, float], share: float
) -> Tensor:
    """The loss of a block of rows; writes its gradient: (2, N, V), (N, 1), (2, N, V) -> scalar.

    With d = log p1 - log p2, both divergences together are the sum of (p1 - p2) d. Their gradient by the logits of the
    first pass is p1 (d - sum p1 d) + p1 - p2; of the second the same with the passes exchanged.
    """
    gold, other, padding = q
    log_p = logits.float().log_softmax(dim=2)
    p = log_p.exp()
    loss = (other - gold) * (log_p[0].gather(1, targets).sum() + log_p[1].gather(1, targets).sum())
    if other:
        loss -= other * log_p.sum() + (padding - other) * log_p[:, :, ids.PAD].sum()
    d, difference = log_p[0] - log_p[1], p[0] - p[1]
    divergence = torch.dot(d.flatten(), difference.flatten())
    for p_pass, sign, out in ((p[0], 1.0, gradient[0]), (p[1], -1.0, gradient[1])):
        mean = torch.linalg.vecdot(p_pass, d, dim=1)[:, None]  # (N, 1)
        grad = (d - mean).mul_(sign * share).add_(0.5).mul_(p_pass).add_(difference, alpha=sign * share)
        if other:
            grad -= other / 2
            grad[:, ids.PAD] += (other - padding) / 2
        out.copy_(grad.scatter_add_(1, targets, grad.new_full(targets.shape, (other - gold) / 2)))
    return loss / 2 + share * divergence
