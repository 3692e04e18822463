"""Linear maps whose matrices can be prepacked for a search, which uses each of them at every step."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor, nn

from .kernels import dispatch


class Prepackable:
    """A layer that multiplies by prepacked matrices inside `prepacking`."""

    prepacked: dict[Hashable, dispatch.LinearMap] | None = None  # by the names that the layer gives its matrices
    prepacked_dtype = torch.float32

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None, name: Hashable = None) -> Tensor:
        """x W^T + b, where `name` is always that of the same matrix: (..., D) -> (..., F)."""
        if self.prepacked is None:
            return dispatch.linear(x, weight, bias)
        if name not in self.prepacked:
            self.prepacked[name] = dispatch.prepack_linear(weight, bias, self.prepacked_dtype)
        return self.prepacked[name](x)


class Linear(Prepackable, nn.Linear):
    """x W^T + b, or only the outputs from `begin` to `end`."""

    def forward(self, x: Tensor, begin: int | None = None, end: int | None = None) -> Tensor:
        """Shapes: x (..., D) -> (..., F), or (..., end - begin)."""
        if begin is None and end is None:
            return self.linear(x, self.weight, self.bias)
        return self.linear(x, self.weight[begin:end], self.bias[begin:end], (begin, end))


class OutputProjection(Linear):
    """Scores of every target piece: in a search in fp32, as bf16 gives many pieces the same score."""


class Network(Protocol):
    """A torch module, or what lists the modules of one."""

    def modules(self) -> Iterator[nn.Module]: ...


@contextmanager
def prepacking(network: Network) -> Iterator[None]:
    """Every `Prepackable` of a network prepacks each matrix at its first use: no gradient, and no weight may change.

    It may be entered again inside: layers already prepared by an outer caller stay under its control.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, Prepackable) and layer.prepacked is None]
    for layer in layers:
        layer.prepacked = {}
    try:
        yield
    finally:
        for layer in layers:
            layer.prepacked = None


def prepack_in_bf16(network: Network) -> None:
    """Inside `prepacking`, linear layers multiply in bf16 from now on, on a CPU; all but output projections."""
    for layer in network.modules():
        if isinstance(layer, Linear) and not isinstance(layer, OutputProjection):
            layer.prepacked_dtype = torch.bfloat16
