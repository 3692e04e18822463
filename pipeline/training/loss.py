"""Label-smoothed cross-entropy over real target tokens."""

from typing import Any, Literal

import torch
from torch import Tensor

from pipeline import ids

Spread = Literal["all", "others"]

BLOCK_ROWS = 128  # computed at a time on a CPU: 128 rows of 8,000 logits in fp32 are 4 MB and fit its cache


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float, spread: Spread) -> Tensor:
    """Sum over tokens of the label-smoothed cross-entropy; plain cross-entropy if `smoothing` is 0.

    Shapes: logits (N, V) fp32 or bf16, targets (N,) without padding -> scalar, fp32.
    Units: nats; divide by the number of tokens for a mean.
    Source: Szegedy et al. 2016, section 7, with two readings of its uniform distribution. `all`: every piece receives
        smoothing / V, as in torch. `others`: every piece but the gold one and padding receives smoothing / (V - 2),
        padding 0, as in the Annotated Transformer (whose KL divergence differs by the constant `target_entropy`).
    Raises: ValueError if smoothing is outside [0, 1).
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"label smoothing: must be in [0, 1), got {smoothing}")
    return SmoothedCrossEntropy.apply(logits, targets, smoothing, spread)


def masses(vocab_size: int, smoothing: float, spread: Spread) -> tuple[float, float, float]:
    """Target probability of (the gold piece, any other piece, padding); with `all`, padding is like any other piece."""
    if spread == "all":
        share = smoothing / vocab_size
        return 1 - smoothing + share, share, share
    return 1 - smoothing, smoothing / (vocab_size - 2), 0.0


def target_entropy(vocab_size: int, smoothing: float, spread: Spread) -> float:
    """Entropy of the smoothed target in nats: the minimum of the loss, and its difference from the KL divergence."""
    gold, other, padding = masses(vocab_size, smoothing, spread)
    shares = torch.tensor([gold, padding] + [other] * (vocab_size - 2), dtype=torch.float64)
    return float(torch.special.entr(shares).sum())


class SmoothedCrossEntropy(torch.autograd.Function):
    """Loss and gradient in one pass over blocks of rows, each small enough for the processor's cache."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float, spread: Spread) -> Tensor:
        """Sum of -q log p; the gradient, softmax - q, is saved in the precision of the logits."""
        gradient = torch.empty_like(logits)
        total = torch.zeros((), device=logits.device)
        q = masses(logits.shape[1], smoothing, spread)
        size = BLOCK_ROWS if logits.device.type == "cpu" else len(logits)
        for begin in range(0, len(logits), size):
            rows = slice(begin, begin + size)
            total += block_loss(logits[rows], targets[rows, None], q, gradient[rows])
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        """The saved gradient, scaled in place; safe, as torch refuses a second backward through the same graph."""
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(grads[0]), None, None, None


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
