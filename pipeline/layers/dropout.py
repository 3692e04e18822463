"""Dropout whose masks are drawn quickly on a CPU, where torch draws one number a decision and waits for it."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Zeroes each element with probability `rate` (to 1/65,536) while training, scales the others by 1 / (1 - rate).

    Source: Srivastava et al. 2014. `F.dropout` spends 44 % of a small Transformer's training on two cores in drawing
    its masks; on other devices it is what runs here too.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x of any shape -> the same."""
        if not self.training or not self.rate:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        return Masked.apply(x, draw(x.shape, self.rate, x.dtype), 1 / (1 - self.rate))

    def rectified(self, x: Tensor) -> Tensor:
        """Dropout of max(0, x); x of any shape -> the same."""
        if not self.training or not self.rate or x.device.type != "cpu":
            return self(F.relu(x))
        return Rectified.apply(x, draw(x.shape, self.rate, x.dtype), 1 / (1 - self.rate))


class Masked(torch.autograd.Function):
    """x where `kept` is 1, times a scale; the mask alone is saved for the gradient, which is the same product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return (x * kept).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = ctx.saved_tensors
        return (grads[0] * kept).mul_(ctx.scale), None, None


class Rectified(torch.autograd.Function):
    """max(0, x) where `kept` is 1, times a scale; the result alone is saved: the gradient passes where it is not 0."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        out = F.relu(x).mul_(kept).mul_(scale)
        ctx.save_for_backward(out)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grads[0], out, 0).mul_(ctx.scale), None, None


def draw(shape: torch.Size, rate: float, dtype: torch.dtype) -> Tensor:
    """1 with probability 1 - `rate`, else 0, on the CPU: 16 bits a decision.

    A number of torch's generator begins a stream of SFC64, whose numbers come twice as quickly as torch's own. The
    mask has the type of what it is multiplied by, as a product with a mask of bool takes seven times as long.

    Shapes: a tensor of `shape`.
    """
    count = shape.numel()
    stream = np.random.SFC64(int(torch.randint(2**63 - 1, ())))
    bits = stream.random_raw((count + 3) // 4).view(np.int16)[:count]  # uniform in [-32768, 32767]
    least = round(rate * 65536) - 32768
    return torch.ge(torch.from_numpy(bits).view(shape), least, out=torch.empty(shape, dtype=dtype))
