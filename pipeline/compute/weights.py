"""Reads and writes the weights of a network, with a checksum of their values."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors import torch as safetensors
from torch import Tensor, nn

from ..common.files import DataError, new_file

KEY, CHECKSUM = "nmt", "sha256"  # one key of metadata, as safetensors writes several in any order


def save(path: Path, tensors: dict[str, Tensor], **about: Any) -> None:
    """Write CPU tensors as safetensors, atomically, with a checksum and what else `read` is to give."""
    with new_file(path, "wb") as file:
        file.write(safetensors.save(tensors, {KEY: json.dumps(about | {CHECKSUM: checksum(tensors)})}))


def checksum(tensors: dict[str, Tensor]) -> str:
    """Hexadecimal SHA-256 of names, shapes and values, whatever the order."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def read(path: Path, expected: str, *, is_sealed: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors at `path`, and what was saved about them; `expected` says in messages what should be there.

    A file that `is_sealed`, by the checksums of its folder, may have none of its own: older packages are so.

    Raises: DataError if they are missing, broken or not what was saved.
    """
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {}).get(KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError:
        fault = "no such file"
    except (SafetensorError, ValueError, OSError) as error:
        fault = f"not a whole file of weights ({str(error).splitlines()[0]})"
    else:
        if (stored := about.get(CHECKSUM)) == checksum(tensors) or (is_sealed and not stored):
            return tensors, about
        fault = "other weights than its checksum says" if stored else "weights without a checksum"
    raise DataError(f"{path}: {fault}; expected {expected}")


def load(path: Path, net: nn.Module, expected: str, *, is_sealed: bool = False) -> None:
    """Load the weights that `read` gives into a network.

    Raises: DataError as `read`, or if they are not finite or another network's.
    """
    tensors, _ = read(path, expected, is_sealed=is_sealed)
    if fault := misfit(tensors, net.state_dict()):
        raise DataError(f"{path}: {fault}; expected {expected}")
    net.load_state_dict(tensors)


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
