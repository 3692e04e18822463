"""The position-wise network of a Transformer layer."""

from torch import Tensor, nn

from pipeline.kernels import dispatch
from pipeline.layers.linear import Linear


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, with dropout on the hidden units.

    Source: Vaswani et al. 2017, section 3.3; the dropout inside is the Annotated Transformer's.
    """

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.widen = Linear(width, hidden)
        self.narrow = Linear(hidden, width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (B, T, D) -> (B, T, D), (B, T, F) between."""
        hidden = dispatch.relu_dropout(self.widen(x), self.dropout, training=self.training)  # (B, T, F)
        return self.narrow(hidden)
