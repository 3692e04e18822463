"""Base of the recurrent models: embeddings, decoder states, the loop over the target, teacher forcing, maxout."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Generic, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ..common.params import Section, Width
from ..compute import ids
from .decoder_state import DecoderState, Rows
from .dropout import Dropout
from .embedding import EmbeddingMatrices
from .linear import OutputProjection


@dataclass(frozen=True, kw_only=True)
class RecurrentState(DecoderState):
    """The state of a decoder without attention, or the part of it that all recurrent decoders share."""

    s: Tensor  # (N, D), the hidden state s_t of the papers
    weights: Tensor | None = None  # (N, S), attention of the last step; None before the first one and without attention


@dataclass(frozen=True)
class Annotations(Rows):
    """The source as attention reads it."""

    memory: Tensor  # (B, S, C), the encoder's states
    keys: Tensor  # (B, S, A), what the scoring function makes of them
    real: Tensor  # (B, S), True where there is no padding


@dataclass(frozen=True, kw_only=True)
class AttentionState(RecurrentState):
    """The state of a decoder with attention."""

    source: Annotations


State = TypeVar("State", bound=RecurrentState)


class RecurrentArch(Section):
    """Keys of every recurrent model's section.

    `dropout` is on the embeddings, `output_dropout` on what the output projection reads.
    """

    embedding: Width
    dropout: Annotated[float, Field(ge=0, le=0.99)]
    output_dropout: Annotated[float, Field(ge=0, le=0.99)]
    teacher_forcing: Annotated[float, Field(ge=0, le=1)]


class Recurrent(nn.Module, Generic[State]):
    """A recurrent encoder-decoder: everything that `models.interface.Model` asks, given four things.

    A model defines its first state (`start`), one step (`advance`), what the output projection reads of a step
    (`read_out`), and the `output` projection itself.

    In training each step but the first reads the true piece with probability `teacher_forcing`, otherwise the one that
    the model itself, dropout included, finds likeliest (Bengio et al. 2015; one draw per step and micro-batch).
    """

    output: OutputProjection
    is_capturable = False  # it reads lengths and draws of teacher forcing on the CPU

    def __init__(self, arch: RecurrentArch, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source_embedding = nn.Parameter(torch.empty(source_size, arch.embedding))
        self.target_embedding = nn.Parameter(torch.empty(target_size, arch.embedding))
        self.dropout = Dropout(arch.dropout)
        self.output_dropout = Dropout(arch.output_dropout)
        self.teacher_forcing = arch.teacher_forcing

    @property
    def embedding_matrices(self) -> EmbeddingMatrices:
        """Embeddings of the source and of the target."""
        return EmbeddingMatrices(self.source_embedding, self.target_embedding)

    @abstractmethod
    def start(self, source: Tensor) -> State:
        """Encode once: the state before the first decode step, with one hypothesis per sentence of (B, S)."""

    @abstractmethod
    def advance(self, y: Tensor, state: State) -> tuple[Tensor, State]:
        """One step, given the embedding of the piece before: what the output is made of, and the next state.

        Here the state's `source` has one row per hypothesis too.

        Shapes: y (N, E) -> (N, O).
        """

    def read_out(self, x: Tensor) -> Tensor:
        """The inputs of the output projection, by default x as it is: (..., O) -> (..., D)."""
        return x

    def embed_source(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The source's embeddings, which positions are real, how many are: (B, S, E), (B, S), (B,)."""
        real = source != ids.PAD
        return self.dropout(F.embedding(source, self.source_embedding)), real, real.sum(dim=1)

    def embed_target(self, pieces: Tensor) -> Tensor:
        """Shapes: pieces of any shape (...) -> (..., E)."""
        return self.dropout(F.embedding(pieces, self.target_embedding))

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The inputs of the output projection at every target position: (B, S), (B, T) -> (B, T, D)."""
        state = self.start(source)
        outputs: list[Tensor] = []
        if self.training and self.teacher_forcing < 1:
            forced = (torch.rand(target_input.shape[1]) < self.teacher_forcing).tolist()
            for index, true in enumerate(target_input.unbind(1)):
                pieces = true if index == 0 or forced[index] else self.likeliest(outputs[-1])
                out, state = self.advance(self.embed_target(pieces), state)
                outputs.append(out)
        else:
            for y in self.embed_target(target_input).unbind(1):
                out, state = self.advance(y, state)
                outputs.append(out)
        return self.read_out(torch.stack(outputs, dim=1))

    @torch.no_grad()
    def likeliest(self, out: Tensor) -> Tensor:
        """The piece that the model itself finds likeliest: (N, O) -> (N,)."""
        return self.logits(self.read_out(out)).argmax(dim=1)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece: (..., D) -> (..., V)."""
        return self.output(self.output_dropout(hidden))

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """The input of the output projection for the piece after `tokens`, (N,) -> (N, D), and the next state."""
        width, each = len(tokens) // len(state.source), state
        if width > 1:
            sentence = torch.arange(len(tokens), device=tokens.device) // width  # of each hypothesis
            each = replace(state, source=state.source.select(sentence))
        out, after = self.advance(self.embed_target(tokens), each)
        return self.read_out(out), replace(after, source=state.source)

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """The attention of each step: {"attention": (B, 1, T, S)}, or {} of a model without attention."""
        state = self.start(source)
        weights: list[Tensor] = []
        for y in self.embed_target(target_input).unbind(1):
            _, state = self.advance(y, state)
            weights += [] if state.weights is None else [state.weights]
        return {"attention": torch.stack(weights, dim=1)[:, None]} if weights else {}


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


def context_vector(weights: Tensor, memory: Tensor) -> Tensor:
    """c = sum_j a_j h_j: (N, S), (N, S, C) -> (N, C)."""
    return torch.bmm(weights[:, None], memory).squeeze(1)
