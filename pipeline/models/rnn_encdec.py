"""The encoder-decoder without attention: all that the decoder knows of the source is the encoder's last state."""

import torch
from torch import Tensor, nn

from pipeline.layers.cells import ResetGate, gru_cell, initialise
from pipeline.layers.maxout import Maxout
from pipeline.layers.packed import Linear
from pipeline.layers.recurrent import Recurrent, RecurrentArch, State
from pipeline.layers.recurrent_encoder import GRUEncoder, reverse
from pipeline.params import Width


class Arch(RecurrentArch):
    """`reverse_source` reads the source's last word first (Sutskever et al. 2014), its EOS last all the same."""

    width: Width
    maxout: Width
    reset_gate: ResetGate
    reverse_source: bool


class Model(Recurrent):
    """c = the encoder's last state; s_0 = tanh(V c); s_t = GRU([E y_{t-1}; c], s_{t-1}); maxout of [s_t; E y_{t-1}; c].

    Source: Cho et al. 2014, as RNNencdec in Bahdanau et al. 2015, whose initial weights are taken too.
    """

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        super().__init__(arch, source_size=source_size, target_size=target_size)
        embedding, width = arch.embedding, arch.width
        self.reverse_source = arch.reverse_source
        self.encoder = GRUEncoder(embedding, width, reset_gate=arch.reset_gate, bidirectional=False)
        self.begin = nn.Linear(width, width)
        self.cell = gru_cell(arch.reset_gate, embedding + width, width)
        self.maxout = Maxout(width + embedding + width, arch.maxout)
        self.output = Linear(arch.maxout, target_size)
        initialise(self)

    def start(self, source: Tensor) -> State:
        """Encode once: the state before the first decode step, a row a sentence of (B, S)."""
        x, _, lengths = self.read(source)
        x = reverse(x, lengths - 1) if self.reverse_source else x
        context = self.encoder.final(self.encoder(x, lengths), lengths)
        return {"source.context": context, "s": torch.tanh(self.begin(context))}

    def advance(self, y: Tensor, state: State) -> tuple[Tensor, State]:
        """[s_t; E y_{t-1}; c] and the state after it: (N, E) -> (N, D + E + D)."""
        context = state["source.context"]
        s = self.cell(torch.cat((y, context), dim=1), state["s"])
        return torch.cat((s, y, context), dim=1), state | {"s": s}

    def read_out(self, x: Tensor) -> Tensor:
        """Shapes: x (..., D + E + D) -> (..., maxout)."""
        return self.maxout(x)
