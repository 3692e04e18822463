"""Several networks that choose each piece together."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..models import interface


@dataclass(frozen=True)
class EnsembleState:
    """The state of each network."""

    members: tuple[interface.DecoderState, ...]

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> Self:
        """`DecoderState.select` of every network."""
        return type(self)(tuple(member.select(rows, sentences) for member in self.members))


class Ensemble(nn.Module):
    """A model, as a search uses it, whose probability of a piece is the mean of its members' probabilities.

    All members share a vocabulary; they may differ in everything else.

    Source: fairseq averages probabilities too; sockeye and OpenNMT can average log probabilities instead.
    """

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members: Any = nn.ModuleList(members)
        self.widths: list[int] = []  # of what each member's output projection reads; known after a step

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The inputs of the output projections, given the true prefixes: (B, S), (B, T) -> (B, T, D1 + D2 + ...)."""
        parts = [member.hidden(source, target_input) for member in self.members]
        self.widths = [part.shape[-1] for part in parts]
        return torch.cat(parts, dim=-1)

    def start(self, source: Tensor) -> EnsembleState:
        """The state of each member before its first step, one row per sentence of (B, S)."""
        return EnsembleState(tuple(member.start(source) for member in self.members))

    def step(self, state: EnsembleState, tokens: Tensor) -> tuple[Tensor, EnsembleState]:
        """The inputs of the output projections, side by side: (N,) -> (N, D1 + D2 + ...), and the next state."""
        steps = [member.step(before, tokens) for member, before in zip(self.members, state.members, strict=True)]
        self.widths = [hidden.shape[1] for hidden, _ in steps]
        return torch.cat([hidden for hidden, _ in steps], dim=1), EnsembleState(tuple(after for _, after in steps))

    def logits(self, hidden: Tensor) -> Tensor:
        """The logarithm of the mean probability of every target piece: (..., D1 + D2 + ...) -> (..., V)."""
        parts = hidden.split(self.widths, dim=-1)
        every = (member.logits(part) for member, part in zip(self.members, parts, strict=True))
        log_p = torch.stack([torch.log_softmax(logits.float(), dim=-1) for logits in every])
        return torch.logsumexp(log_p, dim=0) - math.log(len(parts))

    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """The attention of the first member that has some."""
        return next(filter(None, (member.attention(source, target_input) for member in self.members)), {})
