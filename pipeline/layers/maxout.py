"""The deep output layer of the recurrent models: one maxout layer before the projection."""

import torch
from torch import Tensor, nn


class Maxout(nn.Module):
    """max over pairs of units: t = W x + b of 2 * size units, then max(t_1, t_2), max(t_3, t_4), ...

    Source: Goodfellow et al. 2013, as in Bahdanau et al. 2015, appendix A.2.2.
    """

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.units = nn.Linear(input_size, 2 * size)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (..., I) -> (..., size)."""
        units = self.units(x)
        return torch.maximum(units[..., 0::2], units[..., 1::2])
