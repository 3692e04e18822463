"""The interface of every model, and how to find one: `pipeline/models/<name>.py` defines `Arch` and `Model`."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Protocol

from torch import Tensor, nn

from .. import models
from ..layers.decoder_state import DecoderState as DecoderState
from ..layers.embedding import EmbeddingMatrices as EmbeddingMatrices
from ..layers.linear import prepack_in_bf16 as prepack_in_bf16
from ..layers.linear import prepacking as prepacking


class Model(Protocol):
    """A translation model, which is a torch module, made by `Model(arch, source_size=..., target_size=...)`.

    Sources end with EOS, target inputs begin with BOS, both are padded with PAD at the end.
    """

    # Whether a GPU may capture `hidden` and its gradient once for a shape, and replay it: nothing in it reads a number
    # on the CPU, copies one to the GPU, or has a size that depends on values.
    is_capturable: bool

    def parameters(self) -> Iterator[nn.Parameter]: ...
    def buffers(self) -> Iterator[Tensor]: ...
    def modules(self) -> Iterator[nn.Module]: ...
    def train(self) -> object: ...
    def eval(self) -> object: ...

    @property
    def embedding_matrices(self) -> EmbeddingMatrices:
        """Embeddings of the source and of the target, (V, E) each, which may be one."""

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The inputs of the output projection, given the true prefixes: (B, S), (B, T) -> (B, T, D)."""

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece, which the caller may change in place: (..., D) -> (..., V)."""

    def start(self, source: Tensor) -> DecoderState:
        """Encode once: the state before the first decode step, with one hypothesis per sentence of (B, S)."""

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """The input of the output projection for the piece after each hypothesis's last one, and the next state.

        The caller has put the model into `eval()` and takes no gradient. Inside `prepacking` it is quicker: opened
        around `start` and all steps, with no autocast and no change of weights meanwhile. `state` stays as it is.

        Shapes: tokens (N,) -> (N, D).
        """

    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """Every matrix of attention weights by name, without gradient: (B, S), (B, T) -> (B, H, rows, columns) each.

        Recurrent models: `attention` (B, 1, T, S), or nothing. Transformers, for each layer n from 1: `encoder n`
        (B, H, S, S), `decoder n` (B, H, T, T) and `cross n` (B, H, T, S). The caller has put the model into `eval()`.
        """


def names() -> list[str]:
    """Every model there is, chosen or not."""
    return [module.name for module in pkgutil.iter_modules(models.__path__) if module.name != "interface"]


def find(name: str) -> ModuleType:
    """The module of the model called `name`; its `Arch` has keys of configs/<name>.yaml, its `Model` the network."""
    return import_module(f"{models.__name__}.{name}")  # the wheel has another name for the package
