"""What every model answers, and how one is found: `pipeline/models/<name>.py` defines `Arch` and `Model`."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from types import ModuleType
from typing import Protocol

from torch import Tensor, nn

from pipeline.kernels.dispatch import LinearMap as LinearMap

# Of a search: dimension 0 of a tensor is the row, or the sentence where its name begins with `source.`. Each of the B
# sentences has W rows, sentence by sentence, so that what it keeps of its source need not be copied for each. Where a
# name begins with `past.` it is the model's own, and stays as it is whichever rows and sentences stay.
State = dict[str, Tensor]


class Model(Protocol):
    """A translation model, which is a torch module.

    Sources end with EOS, target inputs begin with BOS, both are padded with PAD at the end.
    """

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def buffers(self) -> Iterator[Tensor]: ...

    def train(self) -> object: ...

    def eval(self) -> object: ...

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """What the output projection reads, the true prefix given (teacher forcing): (B, S), (B, T) -> (B, T, D)."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece: (..., D) -> (..., V)."""
        ...

    def searching(self) -> AbstractContextManager[LinearMap]:
        """Open around the `start` and all steps of a search; gives `logits`, of which the caller may change the scores.

        Meanwhile no weight changes, nothing is autocast and no other search of the model is under way. It may be open
        around several searches, one after the other, each of which opens it again at no cost. The caller has put the
        model into `eval()`.
        """
        ...

    def start(self, source: Tensor) -> State:
        """Encode once: the state before the first decode step, a row a sentence of (B, S)."""
        ...

    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """What the output projection reads for the piece after each row's last one, and the state after that one.

        The state given may be stepped again, but then whatever followed on it before is no longer good. No gradient.

        Shapes: tokens (B * W,) -> (B * W, D).
        """
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


def select(state: State, rows: Tensor, sentences: Tensor | None = None) -> State:
    """The state with row i taken from row `rows[i]`, and of the sentences those given, all of them where none are.

    Rows may be repeated, reordered and dropped, but each sentence that stays has as many as any other.

    Shapes: rows (N,), sentences (B,).
    """
    after = {}
    for name, tensor in state.items():
        if name.startswith("source."):
            after[name] = tensor if sentences is None else tensor.index_select(0, sentences)
        else:
            after[name] = tensor if name.startswith("past.") else tensor.index_select(0, rows)
    return after
