"""Label-smoothed cross-entropy over real target tokens."""

from typing import Literal

from torch import Tensor

from . import loss_kernels as losses

Spread = Literal["all", "others"]


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float, spread: Spread) -> Tensor:
    """Sum over tokens of the label-smoothed cross-entropy; plain cross-entropy if `smoothing` is 0.

    Shapes: logits (N, V) fp32 or bf16, targets (N,) without padding -> scalar, fp32.
    Units: nats; divide by the number of tokens for a mean.
    Source: Szegedy et al. 2016, section 7, with two readings of its uniform distribution. `all`: every piece receives
        smoothing / V, as in torch. `others`: every piece but the gold one and padding receives smoothing / (V - 2),
        padding 0, as in the Annotated Transformer (whose KL divergence differs by a constant, the target's entropy).
    Raises: ValueError if smoothing is outside [0, 1).
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"label smoothing: must be in [0, 1), got {smoothing}")
    return losses.cross_entropy(logits, targets, *masses(logits.shape[1], smoothing, spread))


def r_drop_loss(logits: Tensor, targets: Tensor, *, smoothing: float, spread: Spread, weight: float) -> Tensor:
    """Label-smoothed cross-entropy, the mean of two passes, plus weight / 4 times (KL(P1 || P2) + KL(P2 || P1)).

    Shapes: logits (2, N, V) fp32 or bf16, targets (N,) without padding -> scalar, fp32, the sum over tokens.
    Units: nats; divide by the number of tokens for a mean.
    Source: Liang, Wu et al. 2021, `R-Drop`, equation 4, halved, so that it compares with `smoothed_cross_entropy`;
        `weight` is their alpha, 5 in their translation experiments.
    """
    return losses.r_drop(logits, targets, *masses(logits.shape[2], smoothing, spread), weight)


def masses(vocab_size: int, smoothing: float, spread: Spread) -> tuple[float, float, float]:
    """Target probability of (the gold piece, any other piece, padding); with `all`, padding is like any other piece."""
    if spread == "all":
        share = smoothing / vocab_size
        return 1 - smoothing + share, share, share
    return 1 - smoothing, smoothing / (vocab_size - 2), 0.0
