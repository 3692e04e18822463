"""Products with a matrix that is rearranged once, as the processor reads it, and then used many times."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

EXPECTED_ROWS = 256  # the arrangement is chosen for products of so many rows; it serves any other number
ROWS_MULTIPLE = 16  # rows are filled up to it: oneDNN holds 360 KB for good for each number of rows it ever met


def can_prepack(weight: Tensor) -> bool:
    """Whether the kernel runs: on a CPU, in fp32, by a torch that is built with oneDNN."""
    has_kernel = bool(torch.backends.mkldnn.is_available()) and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return has_kernel and weight.device.type == "cpu" and weight.dtype == torch.float32


def prepacked_linear(weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """x W^T + b as a function of x, without gradient, for as long as neither W nor b changes. Its twin is `F.linear`.

    It is computed in `dtype`, fp32 or bf16, and comes in the dtype of x. MKL, behind `F.linear`, rearranges W for every
    product, and sums few rows in another order than many. oneDNN's sums for a row do not depend on the other rows, to
    the bit.

    Shapes: weight (F, D), bias (F,); the function takes (..., D) to (..., F).
    """
    operations = torch.ops.mkldnn
    packed = operations._reorder_linear_weight(weight.detach().to(dtype), EXPECTED_ROWS)
    added = None if bias is None else bias.detach().to(dtype)

    def multiply(x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1]).to(dtype)
        padded = F.pad(rows, (0, 0, 0, -len(rows) % ROWS_MULTIPLE))
        out = operations._linear_pointwise(padded, packed, added, "none", [], "")
        return out[: len(rows)].to(x.dtype).view(*x.shape[:-1], len(weight))

    return multiply
