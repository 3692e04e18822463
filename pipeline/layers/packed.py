"""Products with matrices that stay the same: each is arranged once, as the processor reads it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.layers.product import product

HINT = 256  # rows of a product that the arrangement is meant for; it serves any other number

Product = Callable[[Tensor], Tensor]


class Linear(nn.Linear):
    """x W^T + b, or some rows of W's and b's; while `packing` is open, by `packed`."""

    products: dict[tuple[int | None, int | None], Product] | None = None  # by those rows, while packing

    def forward(self, x: Tensor, begin: int | None = None, end: int | None = None) -> Tensor:
        """Shapes: x (..., D) -> (..., F), or (..., end - begin)."""
        rows, products = (begin, end), self.products
        if products is not None and rows in products:
            return products[rows](x)
        whole = rows == (None, None)
        weight, bias = (self.weight, self.bias) if whole else (self.weight[begin:end], self.bias[begin:end])
        if products is None:
            return product(x, weight, bias)
        products[rows] = packed(weight, bias)
        return products[rows](x)


@contextmanager
def packing(network: nn.Module) -> Iterator[None]:
    """Every `Linear` of a network by `packed`: without gradient, and while no weight changes.

    A `Linear` that is packing already is left as it is, and to whoever had it do so.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, Linear) and layer.products is None]
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
    return lambda x: operations._linear_pointwise(x, arranged, bias, "none", [], "")
