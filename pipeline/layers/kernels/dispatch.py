"""Where a layer's arithmetic is chosen: our kernel if it is quicker, torch's own otherwise.

Device and dtype decide, and for attention whether it is a training, with gradients or dropout. All these kernels are
for CPUs; those of the losses, which `training/loss.py` calls, run on every device. Tests compare each with a twin in
plain torch, in values and gradients.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from .attention import additive_mask, bf16_attention
from .dropout import MaskedDropout, draw_mask
from .linear import Bf16Linear
from .prepacked import can_prepack, prepacked_linear

LinearMap = Callable[[Tensor], Tensor]


def dropout(x: Tensor, rate: float, *, training: bool) -> Tensor:
    """Zeroes each element with probability `rate` (to 1/65,536), scales the others by 1 / (1 - rate).

    Shapes: x of any shape -> the same.
    """
    if not training or not rate:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, rate)
    return MaskedDropout.apply(x, draw_mask(x.shape, rate, x.dtype), 1 / (1 - rate))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b.

    Shapes: x (..., D), weight (F, D), bias (F,) -> (..., F).
    """
    in_bf16 = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    if in_bf16 and x.device.type == "cpu":
        return Bf16Linear.apply(x, weight, bias)
    return F.linear(x, weight, bias)


def prepack_linear(weight: Tensor, bias: Tensor | None, dtype: torch.dtype = torch.float32) -> LinearMap:
    """x W^T + b as a function of x, without gradient and only while neither W nor b changes.

    The kernel computes in `dtype`, torch itself in that of W.

    Shapes: weight (F, D), bias (F,); the function takes (..., D) to (..., F).
    """
    if can_prepack(weight):
        return prepacked_linear(weight, bias, dtype)
    return lambda x: F.linear(x, weight, bias)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, dropout: float, causal: bool
) -> Tensor:
    """dropout(softmax(Q K^T / sqrt(K))) V; with `causal` there is no mask.

    Shapes: query (B, H, T, K), key and value (B, H, S, K), mask (B, 1, 1, S) with True where a position may be seen
        -> (B, H, T, K).
    """
    is_training = dropout > 0 or (torch.is_grad_enabled() and query.requires_grad)
    if is_training and query.device.type == "cpu" and query.dtype == torch.bfloat16:
        return bf16_attention(query, key, value, additive_mask(query, mask, causal=causal), dropout)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=causal)
