"""What the recurrent models share: embeddings, the way through the target, scheduled teacher forcing."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline import ids
from pipeline.kernels.dispatch import LinearMap
from pipeline.layers.dropout import Dropout
from pipeline.layers.linear import Linear, prepacking
from pipeline.params import Section, Width

State = dict[str, Tensor]


class RecurrentArch(Section):
    """What the `arch` of every recurrent model says, beside what is its own.

    `dropout` is on the embeddings, `output_dropout` on what the output projection reads.
    """

    embedding: Width
    dropout: Annotated[float, Field(ge=0, le=0.99)]
    output_dropout: Annotated[float, Field(ge=0, le=0.99)]
    teacher_forcing: Annotated[float, Field(ge=0, le=1)]


class Recurrent(nn.Module):
    """A recurrent encoder-decoder; answers everything that `models.interface.Model` asks, given four things.

    A model says how it begins (`start`), what one step reads and becomes (`advance`), what the output projection reads
    of that (`read_out`), and has an `output` projection. `advance` leaves a step's attention in the state, as
    "weights" (N, S), where there is any.

    While training, each step but the first reads the true piece with probability `teacher_forcing`, and else the one
    that the model itself, dropout included, finds likeliest (Bengio et al. 2015; one draw a step and micro-batch).
    """

    output: Linear

    def __init__(self, arch: RecurrentArch, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source_embedding = nn.Parameter(torch.empty(source_size, arch.embedding))
        self.target_embedding = nn.Parameter(torch.empty(target_size, arch.embedding))
        self.dropout = Dropout(arch.dropout)
        self.output_dropout = Dropout(arch.output_dropout)
        self.teacher_forcing = arch.teacher_forcing

    @abstractmethod
    def start(self, source: Tensor) -> State:
        """Encode once: the state before the first decode step, a row a sentence of (B, S)."""

    @abstractmethod
    def advance(self, y: Tensor, state: State) -> tuple[Tensor, State]:
        """What the output is made of after one more piece, and the state after it: (N, E) -> (N, O).

        What the state holds of the source has a row for each of y's.
        """

    @abstractmethod
    def read_out(self, x: Tensor) -> Tensor:
        """What the output projection reads: (..., O) -> (..., D)."""

    def read(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The source's embeddings, which positions are real, and how many: (B, S, E), (B, S), (B,)."""
        real = source != ids.PAD
        return self.dropout(F.embedding(source, self.source_embedding)), real, real.sum(dim=1)

    def embed_target(self, pieces: Tensor) -> Tensor:
        """Shapes: pieces of any shape (...) -> (..., E)."""
        return self.dropout(F.embedding(pieces, self.target_embedding))

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """What the output projection reads, at every target position: (B, S), (B, T) -> (B, T, D)."""
        state = self.start(source)
        found: list[Tensor] = []
        if self.training and self.teacher_forcing < 1:
            forced = (torch.rand(target_input.shape[1]) < self.teacher_forcing).tolist()
            for index, true in enumerate(target_input.unbind(1)):
                pieces = true if index == 0 or forced[index] else self.likeliest(found[-1])
                out, state = self.advance(self.embed_target(pieces), state)
                found.append(out)
        else:
            for y in self.embed_target(target_input).unbind(1):
                out, state = self.advance(y, state)
                found.append(out)
        return self.read_out(torch.stack(found, dim=1))

    @torch.no_grad()
    def likeliest(self, out: Tensor) -> Tensor:
        """The piece that the model itself would write: (N, O) -> (N,)."""
        return self.logits(self.read_out(out)).argmax(dim=1)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece: (..., D) -> (..., V)."""
        return self.output(self.output_dropout(hidden))

    @contextmanager
    def searching(self) -> Iterator[LinearMap]:
        """Gives `logits`; while open every product is by a matrix that was arranged once."""
        with prepacking(self):
            yield self.output

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """What the output projection reads for the piece after `tokens`: (B * W,) -> (B * W, D), and the state."""
        source = {name: tensor for name, tensor in state.items() if name.startswith("source.")}
        width = len(tokens) // len(next(iter(source.values())))
        spread = {name: tensor.repeat_interleave(width, dim=0) for name, tensor in source.items()} if width > 1 else {}
        out, after = self.advance(self.embed_target(tokens), state | spread)
        return self.read_out(out), after | source

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """How much each step looked at each source position: {"attention": (B, 1, T, S)}, or {} where none looks."""
        state = self.start(source)
        found: list[Tensor] = []
        for y in self.embed_target(target_input).unbind(1):
            _, state = self.advance(y, state)
            found += [state["weights"]] if "weights" in state else []
        return {"attention": torch.stack(found, dim=1)[:, None]} if found else {}


def mix(weights: Tensor, memory: Tensor) -> Tensor:
    """The context, a sum of source positions: (N, S), (N, S, C) -> (N, C)."""
    return torch.bmm(weights[:, None], memory).squeeze(1)
