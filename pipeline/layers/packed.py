"""A product with a matrix that stays the same: the matrix is arranged once, as the processor reads it."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

HINT = 256  # rows of a product that the arrangement is meant for; it serves any other number


def packed(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """x W^T + b as a function of x, without gradient, for as long as W and b do not change.

    On a CPU, in fp32, by oneDNN: what it sums for a row does not depend on the other rows, to the bit (torch's own
    product, MKL's, goes about few rows in another way than about many), and MKL would arrange W anew each time. Of
    another dtype or elsewhere torch's own.

    Shapes: weight (V, D), bias (V,); the function takes (N, D) to (N, V).
    """
    operations = torch.ops.mkldnn
    usable = torch.backends.mkldnn.is_available() and hasattr(operations, "_linear_pointwise")
    if not usable or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return lambda x: F.linear(x, weight, bias)
    arranged = operations._reorder_linear_weight(weight.detach(), HINT)
    return lambda x: operations._linear_pointwise(x, arranged, bias, "none", [], "")
