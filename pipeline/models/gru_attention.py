"""A GRU encoder and a GRU decoder that attends to the source by a choice of scoring functions and scopes."""

from dataclasses import replace
from typing import Self

import torch
from pydantic import model_validator
from torch import Tensor, nn

from ..common.params import Width
from ..layers import scope, scoring
from ..layers.cells import GRUCell
from ..layers.linear import OutputProjection
from ..layers.recurrent import Annotations, AttentionState, Recurrent, RecurrentArch, context_vector
from ..layers.recurrent_encoder import GRUEncoder


class Arch(RecurrentArch):
    """`encoder_width` is that of one direction, `width` the decoder's."""

    encoder_width: Width
    bidirectional: bool
    width: Width
    attention: scoring.AttentionScore
    scope: scope.Scope

    @property
    def memory_width(self) -> int:
        """Of one encoded source position."""
        return self.encoder_width * (2 if self.bidirectional else 1)

    @model_validator(mode="after")
    def match_widths(self) -> Self:
        """The product of two vectors needs equal widths."""
        if self.attention.kind in ("dot", "scaled_dot") and self.memory_width != self.width:
            raise ValueError(
                f"attention.kind: {self.attention.kind} needs states of equal width, got {self.memory_width} in the "
                f"encoder and {self.width} in the decoder; expected equal ones, or general"
            )
        return self


class Model(Recurrent[AttentionState]):
    """a = attend(s_{t-1}, h); c = sum_j a_j h_j; s_t = GRU([E y_{t-1}; c], s_{t-1}); W [s_t; c; E y_{t-1}] + b.

    s_0 is the encoder's last state, through a linear layer if widths differ or the encoder has two directions.
    All weights start as torch's layers do, embeddings from N(0, 1): from N(0, 1 / E) it learnt half as fast.
    Source: Bahdanau et al. 2015, simplified as in the tutorials on Multi30k; Luong et al. 2015 for the choices.
    """

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        super().__init__(arch, source_size=source_size, target_size=target_size)
        memory, width = arch.memory_width, arch.width
        self.encoder = GRUEncoder(
            arch.embedding, arch.encoder_width, reset_gate="after", bidirectional=arch.bidirectional
        )
        self.begin = nn.Linear(memory, width) if arch.bidirectional or memory != width else nn.Identity()
        self.scoring = scoring.build(arch.attention, width, memory)
        self.scope = scope.build(arch.scope, width)
        self.cell = GRUCell(arch.embedding + memory, width)
        self.output = OutputProjection(width + memory + arch.embedding, target_size)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding)

    def start(self, source: Tensor) -> AttentionState:
        x, real, lengths = self.embed_source(source)
        memory = self.encoder(x, lengths)
        s = self.begin(self.encoder.final(memory, lengths))
        return AttentionState(source=Annotations(memory, self.scoring.project_memory(memory), real), s=s)

    def advance(self, y: Tensor, state: AttentionState) -> tuple[Tensor, AttentionState]:
        """[s_t; c; E y_{t-1}] and the next state: (N, E) -> (N, D + C + E)."""
        source, s = state.source, state.s
        weights = self.scope(self.scoring(s, source.keys), s, source.real)
        context = context_vector(weights, source.memory)
        s = self.cell(torch.cat((y, context), dim=1), s)
        return torch.cat((s, context, y), dim=1), replace(state, s=s, weights=weights)
