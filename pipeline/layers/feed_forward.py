"""The position-wise network of a Transformer layer, plain or gated."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from .dropout import Dropout
from .linear import Linear

Activation = Literal["relu", "silu", "gelu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, or with another `activation`, and dropout on the hidden units.

    Source: Vaswani et al. 2017, section 3.3; the dropout inside is the Annotated Transformer's, SiLU is Marian's.
    """

    def __init__(self, width: int, hidden: int, dropout: float, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.widen = Linear(width, hidden)
        self.narrow = Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (B, T, D) -> (B, T, D), (B, T, F) between."""
        hidden = self.dropout(ACTIVATIONS[self.activation](self.widen(x)))  # (B, T, F)
        return self.narrow(hidden)


class GatedFeedForward(nn.Module):
    """(SiLU(x W + b) * (x V + c)) W2 + b2, with dropout on the hidden units. One matrix holds W and V, in this order.

    Source: Shazeer 2020, FFN_SwiGLU; the biases and the dropout are `FeedForward`'s.
    """

    activation: Activation = "silu"  # of the gates

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.gate_and_widen = Linear(width, 2 * hidden)
        self.narrow = Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (B, T, D) -> (B, T, D), (B, T, F) between."""
        gate, widened = self.gate_and_widen(x).chunk(2, dim=-1)
        return self.narrow(self.dropout(F.silu(gate) * widened))
