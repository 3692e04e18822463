"""Reads the weights of a trained network from a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from pipeline.files import DataError

IN_PLACE = ("normal_", "uniform_")
ELEMENTWISE = ("exp", "sin", "cos", "mul", "__mul__", "__rmul__")


class NothingComputed(TorchFunctionMode):
    """Weights are not drawn, and of what tables of positions are computed from, there are the shapes alone.

    On the device `meta` torch does this in Python, for which it imports its compiler: that takes more than a second.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func is torch.arange:
            return torch.empty(len(range(*args)), dtype=given.get("dtype"))
        if func.__name__ in IN_PLACE:
            return given["tensor"] if "tensor" in given else args[0]
        if func.__name__ in ELEMENTWISE and not given:
            tensors = [one for one in args if isinstance(one, Tensor)]
            return torch.empty(np.broadcast_shapes(*(one.shape for one in tensors)), dtype=tensors[0].dtype)
        return func(*args, **given)


@contextmanager
def shapes_alone() -> Iterator[None]:
    """A network that is built inside has no values, and takes no memory, however large it is."""
    with torch.device("meta"), NothingComputed():
        yield


def read(path: Path, net: nn.Module, expected: str) -> dict[str, Tensor]:
    """The weights at `path`, for a network like `net`, which may be on the device `meta`.

    `expected` says in messages what should be there.

    Raises: DataError if they are missing, broken, not finite or another network's.
    """
    try:
        weights = load_file(path)
    except FileNotFoundError:
        what = "no such file"
    except (SafetensorError, ValueError, OSError) as error:
        what = f"not a whole file of weights ({next(iter(str(error).splitlines()), '')})"
    else:
        what = misfit(weights, net.state_dict())
    if what:
        raise DataError(f"{path}: {what}; expected {expected}")
    return weights


def misfit(weights: dict[str, Tensor], expected: dict[str, Tensor]) -> str:
    """Why weights do not fit a network, in a few words; empty if they do."""
    if other := sorted(weights.keys() ^ expected.keys()):
        return (
            f"weights of another network than this code's, {'without' if other[0] in expected else 'with'} {other[0]}"
        )
    for name, weight in weights.items():
        if weight.shape != expected[name].shape:
            shapes = f"{tuple(weight.shape)} in place of {tuple(expected[name].shape)}"
            return f"weights of another network than this code's, {name} is {shapes}"
        if weight.dtype != expected[name].dtype:
            return f"{name} is {weight.dtype} in place of {expected[name].dtype}"
        if not torch.isfinite(weight).all():
            return f"{name} holds a number that is not finite"
    return ""
