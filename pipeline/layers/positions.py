"""Positions: sinusoids added to embeddings, or rotations of queries and keys."""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """PE[p, 2i] = sin(p / 10000^(2i / D)) and PE[p, 2i + 1] = cos of the same angle.

    Shapes: -> (length, width), fp32.
    Source: Vaswani et al. 2017, section 3.5. tensor2tensor puts all sines before all cosines: the same model, with its
        width permuted.
    """
    cosines, sines = rotations(length, width)
    table = torch.empty(length, width)
    table[:, 0::2] = sines
    table[:, 1::2] = cosines[:, : width // 2]
    return table


class Positions(nn.Module):
    """Adds sinusoids to embeddings; the table grows with the longest sentence and is not among the weights."""

    table: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(256, width), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Shapes: x (B, T, D), whose first position is `start` -> (B, T, D)."""
        end = start + x.shape[1]
        table = self.table
        if end > len(table):  # another thread may do the same for a shorter sentence
            self.table = table = sinusoids(2 * end, x.shape[2]).to(table.device)
        return x + table[start:end].to(x.dtype)


class Rotation(nn.Module):
    """Rotates queries and keys by their positions, so that their product depends on how far apart they stand.

    Numbers i and i + K / 2 of a head are the two coordinates that turn by p / 10000^(2i / K) at position p. The tables
    grow with the longest sentence and are not among the weights.

    Source: Su et al. 2021, RoPE; the pairs are those of GPT-NeoX and Llama, which permutes the paper's.
    """

    cosines: Tensor
    sines: Tensor

    def __init__(self, head_width: int) -> None:
        super().__init__()
        assert head_width % 2 == 0, f"head width {head_width} is odd"
        for name, table in zip(("cosines", "sines"), rotations(256, head_width), strict=True):
            self.register_buffer(name, table, persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Shapes: x (B, H, T, K), whose first position is `start` -> (B, H, T, K)."""
        end = start + x.shape[2]
        cosines, sines = self.cosines, self.sines
        if end > min(len(cosines), len(sines)):  # another thread may have replaced the first alone
            with torch.inference_mode(mode=False):  # a search may be what meets the longest sentence first
                cosines, sines = (table.to(x.device) for table in rotations(2 * end, x.shape[3]))
            self.cosines, self.sines = cosines, sines
        first, second = x.chunk(2, dim=3)  # (B, H, T, K / 2) each
        cosine, sine = cosines[start:end].to(x.dtype), sines[start:end].to(x.dtype)
        return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=3)


def rotations(length: int, width: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of p / 10000^(2i / K), for each position p and i < K / 2: (length, K / 2) each, fp32."""
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return torch.cos(angles).float(), torch.sin(angles).float()
