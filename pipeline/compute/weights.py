"""Reads and writes the weights of a network, with a checksum of their values; numpy's arrays without loading torch."""

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from safetensors import SafetensorError, safe_open

from ..common.files import DataError, new_file

if TYPE_CHECKING:
    from torch import Tensor, nn

KEY, CHECKSUM = "nmt", "sha256"  # one key of metadata, as safetensors writes several in any order


def save(path: Path, tensors: Mapping[str, Any], **about: Any) -> None:
    """Write CPU tensors, or arrays, as safetensors, atomically, with a checksum and what else `read` is to give."""
    kind = "numpy" if any(isinstance(tensor, np.ndarray) for tensor in tensors.values()) else "torch"
    metadata = {KEY: json.dumps(about | {CHECKSUM: checksum(tensors)})}
    content = import_module(f"safetensors.{kind}").save(tensors, metadata)
    with new_file(path, "wb") as file:
        file.write(content)


def checksum(tensors: Mapping[str, Any]) -> str:
    """Hexadecimal SHA-256 of names, shapes and values, whatever the order; of arrays that of the same tensors."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        dtype, data = f"torch.{tensor.dtype}", tensor
        if not isinstance(tensor, np.ndarray):
            dtype, data = tensor.dtype, tensor.contiguous().view(-1).view(import_module("torch").uint8).numpy()
        digest.update(f"{name} {dtype} {tuple(tensor.shape)}".encode())
        digest.update(np.ascontiguousarray(data).data)
    return digest.hexdigest()


def read(
    path: Path, expected: str, *, is_sealed: bool = False, framework: Literal["pt", "np"] = "pt"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors at `path`, and what was saved about them; `expected` says in messages what should be there.

    A file that `is_sealed`, by the checksums of its folder, may have none of its own: older packages are so.

    Raises: DataError if they are missing, broken or not what was saved.
    """
    try:
        with safe_open(path, framework) as file:
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


def load(path: Path, net: "nn.Module", expected: str) -> None:
    """Load the weights that `read` gives into a network.

    Raises: DataError as `read`, or if they are not finite or another network's.
    """
    tensors, _ = read(path, expected)
    if fault := misfit(tensors, net.state_dict()):
        raise DataError(f"{path}: {fault}; expected {expected}")
    net.load_state_dict(tensors)


def misfit(weights: "dict[str, Tensor]", expected: "dict[str, Tensor]") -> str:
    """Why weights do not fit a network, in a few words; empty if they do."""
    other = "weights of another network than this code's"
    for name in sorted(weights.keys() ^ expected.keys()):
        return f"{other}, {'without' if name in expected else 'with'} {name}"
    for name, weight in weights.items():
        if weight.shape != expected[name].shape:
            return f"{other}, {name} is {tuple(weight.shape)} in place of {tuple(expected[name].shape)}"
        if weight.dtype != expected[name].dtype:
            return f"{name} is {weight.dtype} in place of {expected[name].dtype}"
        if not weight.isfinite().all():
            return f"{name} holds a number that is not finite"
    return ""
