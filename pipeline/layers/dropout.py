"""Dropout, of the elements that a layer adds."""

from torch import Tensor, nn

from .kernels import dispatch


class Dropout(nn.Module):
    """Zeroes each element with probability `rate` while training, scales the others by 1 / (1 - rate).

    Source: Srivastava et al. 2014.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x of any shape -> the same."""
        return dispatch.dropout(x, self.rate, training=self.training)
