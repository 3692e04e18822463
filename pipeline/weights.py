"""Reads the weights of a trained network from a file."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from pipeline.files import DataError


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
