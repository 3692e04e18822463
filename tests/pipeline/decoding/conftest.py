"""A stand-in model whose every step is drawn from (seed, source, prefix), so that nothing can be found by luck."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from pipeline.compute import ids
from pipeline.compute.padding import pad
from pipeline.layers.decoder_state import DecoderState, Rows


@dataclass(frozen=True)
class Sources(Rows):
    pieces: Tensor  # (B, S)


@dataclass(frozen=True)
class Prefixes(DecoderState):
    source: Sources
    prefix: Tensor  # (N, T)


class Drawn:
    """Logits of the next piece, a function of a hypothesis's source (padding aside) and its whole prefix."""

    def __init__(self, vocabulary: int, *, seed: int = 0, spread: float = 1.0) -> None:
        self.vocabulary, self.seed, self.spread = vocabulary, seed, spread
        self.rows: list[int] = []  # of each step

    def start(self, source: Tensor) -> Prefixes:
        return Prefixes(Sources(source), torch.empty(len(source), 0, dtype=torch.int64))

    def step(self, state: Prefixes, tokens: Tensor) -> tuple[Tensor, Prefixes]:
        assert len(tokens) == len(state.prefix)
        self.rows.append(len(tokens))
        prefix = torch.cat((state.prefix, tokens[:, None]), dim=1)
        sources = state.source.pieces.repeat_interleave(len(tokens) // len(state.source), dim=0)
        scores = [self.scores(*row) for row in zip(sources.tolist(), prefix.tolist(), strict=True)]
        return torch.stack(scores), Prefixes(state.source, prefix)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden.clone()

    def modules(self) -> Iterator[nn.Module]:
        return iter(())

    def scores(self, source: list[int], prefix: list[int]) -> Tensor:
        assert prefix[0] == ids.BOS
        key = f"{self.seed} {[piece for piece in source if piece != ids.PAD]} {prefix}"
        generator = torch.Generator().manual_seed(zlib.crc32(key.encode()))
        return self.spread * torch.randn(self.vocabulary, generator=generator)


class Scripted(Drawn):
    """Probabilities of the next piece by prefix (without BOS), in a table; EOS follows a prefix that is not there."""

    def __init__(self, table: dict[tuple[int, ...], dict[int, float]]) -> None:
        super().__init__(vocabulary=8)
        self.table = table

    def scores(self, source: list[int], prefix: list[int]) -> Tensor:
        row = torch.zeros(self.vocabulary)
        for piece, probability in self.table.get(tuple(prefix[1:]), {ids.EOS: 1.0}).items():
            row[piece] = probability
        return row.log()


@pytest.fixture
def drawn() -> type[Drawn]:
    return Drawn


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def padded() -> Callable[[list[list[int]]], Tensor]:
    return partial(pad, after=(ids.EOS,))
