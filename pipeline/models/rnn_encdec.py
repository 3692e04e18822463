"""The encoder-decoder without attention: all that the decoder knows of the source is the encoder's last state."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from ..common.params import Width
from ..layers.cells import ResetGate, gru_cell, initialise
from ..layers.decoder_state import Rows
from ..layers.linear import OutputProjection
from ..layers.recurrent import Maxout, Recurrent, RecurrentArch, RecurrentState
from ..layers.recurrent_encoder import GRUEncoder, reverse


class Arch(RecurrentArch):
    """Which of Cho's layers there are, and in which order the source is read.

    `context_layer`: whether the context is a layer on top of the encoder's last state, or that state itself.
    `start_layer`: whether the decoder's first state is a layer on top of the context, or the context itself.
    `maxout`: its units; with 0 the output projection reads all of [s_t; E y_{t-1}; c].
    `reverse_source`: read the source's last word first (Sutskever et al. 2014), but still its EOS last.
    """

    width: Width
    context_layer: bool
    start_layer: bool
    maxout: Annotated[int, Field(ge=0, le=2**16)]
    reset_gate: ResetGate
    reverse_source: bool


@dataclass(frozen=True)
class Context(Rows):
    """All that the decoder knows of the source."""

    context: Tensor  # (B, D)


@dataclass(frozen=True, kw_only=True)
class State(RecurrentState):
    """The state of a decoder that reads the same context at every step."""

    source: Context


class Model(Recurrent[State]):
    """c = tanh(V h) of the encoder's last state h, or h; s_0 = tanh(V' c), or c; s_t = GRU([E y_{t-1}; c], s_{t-1}).

    The output projection reads a maxout of [s_t; E y_{t-1}; c], or all of it.

    Source: Cho et al. 2014, appendix A, as RNNencdec in Bahdanau et al. 2015, whose initial weights are taken too. In
        Cho's decoder the reset gate acts on C c as well; here, as in Bahdanau's, on the state alone.
    """

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        super().__init__(arch, source_size=source_size, target_size=target_size)
        embedding, width = arch.embedding, arch.width
        self.reverse_source = arch.reverse_source
        self.encoder = GRUEncoder(embedding, width, reset_gate=arch.reset_gate, bidirectional=False)
        self.context = nn.Linear(width, width) if arch.context_layer else None
        self.begin = nn.Linear(width, width) if arch.start_layer else None
        self.cell = gru_cell(arch.reset_gate, embedding + width, width)
        read = width + embedding + width
        self.maxout = Maxout(read, arch.maxout) if arch.maxout else nn.Identity()
        self.output = OutputProjection(arch.maxout or read, target_size)
        initialise(self)

    def start(self, source: Tensor) -> State:
        x, _, lengths = self.embed_source(source)
        x = reverse(x, lengths - 1) if self.reverse_source else x
        context = self.encoder.final(self.encoder(x, lengths), lengths)
        context = torch.tanh(self.context(context)) if self.context else context
        s = torch.tanh(self.begin(context)) if self.begin else context
        return State(source=Context(context), s=s)

    def advance(self, y: Tensor, state: State) -> tuple[Tensor, State]:
        """[s_t; E y_{t-1}; c] and the next state: (N, E) -> (N, D + E + D)."""
        context = state.source.context
        s = self.cell(torch.cat((y, context), dim=1), state.s)
        return torch.cat((s, y, context), dim=1), replace(state, s=s)

    def read_out(self, x: Tensor) -> Tensor:
        """Shapes: x (..., D + E + D) -> (..., maxout), or x as it is."""
        features: Tensor = self.maxout(x)
        return features
