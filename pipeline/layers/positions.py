"""Sinusoidal positions."""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """PE[p, 2i] = sin(p / 10000^(2i / D)) and PE[p, 2i + 1] = cos of the same angle.

    Shapes: -> (length, width), fp32.
    Source: Vaswani et al. 2017, section 3.5. tensor2tensor puts all sines before all cosines: the same model, with its
        width permuted.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    table = torch.empty(length, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)[:, : width // 2]
    return table.float()


class Positions(nn.Module):
    """Adds sinusoids to embeddings; the table grows with the longest sentence and is not among the weights."""

    table: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(256, width), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Shapes: x (B, T, D), whose first position is `start` -> (B, T, D)."""
        end = start + x.shape[1]
        if end > len(self.table):
            self.table = sinusoids(2 * end, x.shape[2]).to(self.table.device)
        return x + self.table[start:end].to(x.dtype)
