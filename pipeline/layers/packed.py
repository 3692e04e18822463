"""Products with matrices that stay the same: each is arranged once, as the processor reads it."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.layers.product import product

HINT = 256  # rows of a product that the arrangement is meant for; it serves any other number
EVEN = 16  # rows are filled up to a multiple of it: oneDNN holds 360 KB for good for each number of rows it ever met

Product = Callable[[Tensor], Tensor]


class Packable:
    """A layer whose products are by `packed` while `packing` is open."""

    products: dict[Hashable, Product] | None = None  # while packing, by what the layer calls them

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None, name: Hashable = None) -> Tensor:
        """x W^T + b, where `name` stands for the very same matrix each time: (..., D) -> (..., F)."""
        if self.products is None:
            return product(x, weight, bias)
        if name not in self.products:
            self.products[name] = packed(weight, bias)
        return self.products[name](x)


class Linear(Packable, nn.Linear):
    """x W^T + b, or some rows of W's and b's."""

    def forward(self, x: Tensor, begin: int | None = None, end: int | None = None) -> Tensor:
        """Shapes: x (..., D) -> (..., F), or (..., end - begin)."""
        if begin is None and end is None:
            return self.product(x, self.weight, self.bias)
        return self.product(x, self.weight[begin:end], self.bias[begin:end], (begin, end))


@contextmanager
def packing(network: nn.Module) -> Iterator[None]:
    """Every `Packable` of a network by `packed`: without gradient, and while no weight changes.

    One that is packing already is left as it is, and to whoever had it do so.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, Packable) and layer.products is None]
    for layer in layers:
        layer.products = {}
    try:
        yield
    finally:
        for layer in layers:
            layer.products = None


def packed(weight: Tensor, bias: Tensor | None) -> Product:
    """x W^T + b as a function of x, without gradient, for as long as W and b do not change.

    On a CPU, in fp32, by oneDNN: what it sums for a row does not depend on the other rows, to the bit (torch's own
    product, MKL's, goes about few rows in another way than about many), and MKL would arrange W anew each time. Of
    another dtype or elsewhere torch's own.

    Shapes: weight (V, D), bias (V,); the function takes (..., D) to (..., V).
    """
    operations = torch.ops.mkldnn
    built = bool(torch.backends.mkldnn.is_available())
    usable = built and hasattr(operations, "_linear_pointwise")
    if not usable or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return lambda x: F.linear(x, weight, bias)
    arranged = operations._reorder_linear_weight(weight.detach(), HINT)

    def multiply(x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        even = F.pad(rows, (0, 0, 0, -len(rows) % EVEN))
        out = operations._linear_pointwise(even, arranged, bias, "none", [], "")
        return out[: len(rows)].view(*x.shape[:-1], len(weight))

    return multiply
