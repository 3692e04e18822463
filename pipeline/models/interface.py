"""What every model answers, and how one is found: `pipeline/models/<name>.py` defines `Arch` and `Model`."""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Protocol

from torch import Tensor, nn

State = dict[str, Tensor]  # of a search: dimension 0 of every tensor is the row


class Model(Protocol):
    """A translation model, which is a torch module.

    Sources end with EOS, target inputs begin with BOS, both are padded with PAD at the end.
    """

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def train(self) -> object: ...

    def eval(self) -> object: ...

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """What the output projection reads, the true prefix given (teacher forcing): (B, S), (B, T) -> (B, T, D)."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece: (..., D) -> (..., V)."""
        ...

    def start(self, source: Tensor) -> State:
        """Encode once: the state before the first decode step, a row a sentence of (B, S)."""
        ...

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """Scores of the piece that follows each row's last one: (N,) -> (N, V), and the state after it."""
        ...

    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """Every matrix of attention weights by name, without gradient: (B, S), (B, T) -> (B, H, rows, columns) each.

        Recurrent models: `attention` (B, 1, T, S), or none at all. Transformers, for each layer n from 1: `encoder n`
        (B, H, S, S), `decoder n` (B, H, T, T) and `cross n` (B, H, T, S). The caller has put the model into `eval()`.
        """
        ...


def find(name: str) -> ModuleType:
    """The module of the model called `name`; its `Arch` is a section of params.yaml, its `Model` the network."""
    return import_module(f"pipeline.models.{name}")


def select(state: State, rows: Tensor) -> State:
    """The state with row i taken from row `rows[i]`: repeats, reorders and drops rows.

    Shapes: rows (N,).
    """
    return {name: tensor.index_select(0, rows) for name, tensor in state.items()}
