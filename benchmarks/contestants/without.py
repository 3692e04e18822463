"""A contestant of this project with one kernel replaced by plain torch: `without.py <kernel> <script> [arguments]`."""

import runpy
import sys
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from pipeline.decoding import search
from pipeline.layers.kernels import dispatch
from pipeline.training import loop


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, dropout: float, causal: bool
) -> Tensor:
    """In place of `dispatch.scaled_dot_product_attention`."""
    return F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=causal)


def cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float, spread: str) -> Tensor:
    """In place of `loop.smoothed_cross_entropy`, for `smoothing_spread: all`."""
    assert spread == "all", "expected smoothing_spread: all"
    return F.cross_entropy(logits.float(), targets, reduction="sum", label_smoothing=smoothing)


REPLACED: dict[str, tuple[Any, str, Any]] = {
    "dropout": (dispatch, "dropout", F.dropout),
    "linear": (dispatch, "linear", F.linear),
    "attention": (dispatch, "scaled_dot_product_attention", attention),
    "cross_entropy": (loop, "smoothed_cross_entropy", cross_entropy),
    "prepack": (dispatch, "can_prepack", lambda weight: False),
    "threads": (search, "MAX_THREADS", 1),
}


def main(kernel: str, script: str) -> None:
    """Run the script as if it had been started by itself."""
    if kernel != "none":
        module, name, plain = REPLACED[kernel]
        assert hasattr(module, name), f"{module.__name__} has no {name}"
        setattr(module, name, plain)
    sys.argv = sys.argv[2:]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:3])
