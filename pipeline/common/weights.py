"""Reads and writes the weights of a network."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor, nn

from .files import DataError, new_file


def save(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write CPU tensors as safetensors, atomically."""
    with new_file(path, "wb") as file:
        file.write(safetensors.save(tensors, metadata))


def load(path: Path, net: nn.Module, expected: str) -> None:
    """Load the weights at `path` into a network; `expected` says in messages what should be there.

    Raises: DataError if they are missing, broken, not finite or another network's.
    """
    try:
        weights = safetensors.load_file(path)
    except FileNotFoundError:
        fault = "no such file"
    except (SafetensorError, ValueError, OSError) as error:
        fault = f"not a whole file of weights ({str(error).splitlines()[0]})"
    else:
        fault = misfit(weights, net.state_dict())
    if fault:
        raise DataError(f"{path}: {fault}; expected {expected}")
    net.load_state_dict(weights)


def misfit(weights: dict[str, Tensor], expected: dict[str, Tensor]) -> str:
    """Why weights do not fit a network, in a few words; empty if they do."""
    other = "weights of another network than this code's"
    for name in sorted(weights.keys() ^ expected.keys()):
        return f"{other}, {'without' if name in expected else 'with'} {name}"
    for name, weight in weights.items():
        if weight.shape != expected[name].shape:
            return f"{other}, {name} is {tuple(weight.shape)} in place of {tuple(expected[name].shape)}"
        if weight.dtype != expected[name].dtype:
            return f"{name} is {weight.dtype} in place of {expected[name].dtype}"
        if not torch.isfinite(weight).all():
            return f"{name} holds a number that is not finite"
    return ""
