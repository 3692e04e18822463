"""A bidirectional LSTM encoder and an LSTM decoder that attends to the source by scaled dot products."""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor, nn

from ..common.params import Width
from ..layers.cells import LSTMCell
from ..layers.linear import OutputProjection
from ..layers.recurrent import Annotations, AttentionState, Recurrent, RecurrentArch, context_vector
from ..layers.recurrent_encoder import LSTMEncoder
from ..layers.scope import Global
from ..layers.scoring import Product


class Arch(RecurrentArch):
    """`encoder_width` is that of one direction, `width` the decoder's; `initialisation` is how the weights start.

    `torch`: as torch's layers start, with embeddings N(0, 1). `xavier`: as published, see `initialise_as_published`.
    """

    encoder_width: Width
    width: Width
    initialisation: Literal["torch", "xavier"]

    @model_validator(mode="after")
    def match_widths(self) -> Self:
        """The decoder starts from the means of the encoder's states and is multiplied with them."""
        if self.width != 2 * self.encoder_width:
            raise ValueError(f"width: must be twice encoder_width {self.encoder_width}, got {self.width}")
        return self


@dataclass(frozen=True, kw_only=True)
class State(AttentionState):
    """Of an LSTM, which has a cell state too."""

    cell: Tensor  # (N, D)


class Model(Recurrent[State]):
    """a = softmax(s_{t-1}^T h_j / sqrt(D)); c = sum_j a_j h_j; s_t = LSTM([E y_{t-1}; c], s_{t-1}); W s_t without bias.

    The decoder starts from the means over the real positions of the encoder's hidden and cell states.
    """

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        super().__init__(arch, source_size=source_size, target_size=target_size)
        self.encoder = LSTMEncoder(arch.embedding, arch.encoder_width)
        self.scoring = Product(arch.width, arch.width, "scaled_dot")
        self.scope = Global()
        self.cell = LSTMCell(arch.embedding + arch.width, arch.width)
        self.output = OutputProjection(arch.width, target_size, bias=False)
        if arch.initialisation == "xavier":
            initialise_as_published(self)
            return
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding)

    def start(self, source: Tensor) -> State:
        x, real, lengths = self.embed_source(source)
        hiddens, cells = self.encoder(x, lengths)
        share = (real / lengths[:, None])[:, :, None].to(x.dtype)  # (B, S, 1), 0 at padding
        memory = Annotations(hiddens, self.scoring.project_memory(hiddens), real)
        return State(source=memory, s=(hiddens * share).sum(dim=1), cell=(cells * share).sum(dim=1))

    def advance(self, y: Tensor, state: State) -> tuple[Tensor, State]:
        """s_t and the next state: (N, E) -> (N, D)."""
        source, s = state.source, state.s
        weights = self.scope(self.scoring(s, source.keys), s, source.real)
        context = context_vector(weights, source.memory)
        s, cell = self.cell(torch.cat((y, context), dim=1), (s, state.cell))
        return s, replace(state, s=s, cell=cell, weights=weights)


def initialise_as_published(model: nn.Module) -> None:
    """Embeddings Xavier-uniform of gain sqrt(2), other matrices Xavier-uniform, biases U(-0.5, 0.5), in place.

    Each gate of an LSTM counts as a matrix. torch's LSTMs have two biases, the published ones one: the second starts
    at 0.
    """
    for name, weight in model.named_parameters():
        if name.endswith("embedding"):
            nn.init.xavier_uniform_(weight, math.sqrt(2))
        elif name.endswith("bias_hh"):
            nn.init.zeros_(weight)
        elif weight.dim() == 1:
            nn.init.uniform_(weight, -0.5, 0.5)
        else:
            for gate in weight.data.chunk(4) if "weight_" in name else [weight]:
                nn.init.xavier_uniform_(gate)
