"""Neural Machine Translation by Jointly Learning to Align and Translate: RNNsearch."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from ..common.params import Width
from ..layers.cells import ResetGate, gru_cell, initialise
from ..layers.linear import OutputProjection
from ..layers.recurrent import Annotations, AttentionState, Maxout, Recurrent, RecurrentArch, context_vector
from ..layers.recurrent_encoder import GRUEncoder
from ..layers.scope import Global
from ..layers.scoring import Additive


class Arch(RecurrentArch):
    """`width` is that of the decoder and of each direction of the encoder, `alignment` that of the alignment model."""

    width: Width
    alignment: Width
    maxout: Width
    reset_gate: ResetGate


class Model(Recurrent[AttentionState]):
    """e_j = v^T tanh(W_a s_{t-1} + U_a h_j); s_t = GRU([E y_{t-1}; c], s_{t-1}); maxout of [s_{t-1}; E y_{t-1}; c].

    s_0 = tanh(W_s h_1) of the backward direction alone. The output layer reads the state *before* the step.
    Source: Bahdanau et al. 2015, appendices A and B.
    """

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        super().__init__(arch, source_size=source_size, target_size=target_size)
        embedding, width = arch.embedding, arch.width
        self.encoder = GRUEncoder(embedding, width, reset_gate=arch.reset_gate, bidirectional=True)
        self.begin = nn.Linear(width, width)
        self.scoring = Additive(width, 2 * width, arch.alignment)
        self.scope = Global()
        self.cell = gru_cell(arch.reset_gate, embedding + 2 * width, width)
        self.maxout = Maxout(width + embedding + 2 * width, arch.maxout)
        self.output = OutputProjection(arch.maxout, target_size)
        initialise(self)

    def start(self, source: Tensor) -> AttentionState:
        x, real, lengths = self.embed_source(source)
        memory = self.encoder(x, lengths)
        s = torch.tanh(self.begin(memory[:, 0, self.encoder.width :]))
        return AttentionState(source=Annotations(memory, self.scoring.project_memory(memory), real), s=s)

    def advance(self, y: Tensor, state: AttentionState) -> tuple[Tensor, AttentionState]:
        """[s_{t-1}; E y_{t-1}; c_t] and the next state: (N, E) -> (N, D + E + 2D)."""
        source, s = state.source, state.s
        weights = self.scope(self.scoring(s, source.keys), s, source.real)
        context = context_vector(weights, source.memory)
        after = self.cell(torch.cat((y, context), dim=1), s)
        return torch.cat((s, y, context), dim=1), replace(state, s=after, weights=weights)

    def read_out(self, x: Tensor) -> Tensor:
        """Shapes: x (..., D + E + 2D) -> (..., maxout)."""
        return self.maxout(x)
