"""Sampling: each piece of a translation is drawn from the model's distribution, in place of the likeliest one."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from ..common.params import Section
from ..common.seeding import generator


class Sampling(Section):
    """How pieces are drawn. The same source gets the same translation, whatever else is translated with it."""

    temperature: Annotated[float, Field(gt=0)]  # divides the logits: nearer to 0, likely pieces are likelier still
    top_k: Annotated[int, Field(ge=0)]  # so many of the likeliest pieces may be drawn; 0: all
    seed: Annotated[int, Field(ge=0)]

    def chooser(self, sources: Sequence[Sequence[int]]) -> Callable[[Tensor, Tensor], Tensor]:
        """Draws the next pieces of some sources, by their logits and indices; each piece takes a number of its own."""
        numbers = [generator(self.seed, "sampling", *source) for source in sources]
        return lambda logits, rows: self.draw(logits, [numbers[row].random() for row in rows.tolist()])

    def draw(self, logits: Tensor, uniform: Sequence[float]) -> Tensor:
        """The first piece of each row up to which the probabilities sum to more than a number between 0 and 1.

        Shapes: logits (N, V), N numbers -> (N,).
        """
        if 0 < self.top_k < logits.shape[1]:
            least = logits.topk(self.top_k, dim=1).values[:, -1:]
            logits = logits.masked_fill(logits < least, -math.inf)
        scaled = (logits - logits.max(dim=1, keepdim=True).values) / self.temperature
        sums = scaled.softmax(dim=1).cumsum(dim=1, dtype=torch.float64)
        wanted = torch.tensor(uniform, dtype=torch.float64, device=logits.device)[:, None] * sums[:, -1:]
        return torch.searchsorted(sums, wanted, right=True)[:, 0]
