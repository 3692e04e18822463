"""Tensors and what is told of them in one safetensors file, with a checksum of both."""

import hashlib
import json
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load
from torch import Tensor

from pipeline.files import DataError, new_file

Content: TypeAlias = tuple[dict[str, Tensor], dict[str, Any]]  # tensors, and what is told of them

# Names of the format, in the order in which the library lays tensors down.
DTYPES = {torch.int64: "I64", torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


def write(path: Path, tensors: dict[str, Tensor], told: dict[str, Any]) -> None:
    """One safetensors file, atomically, with what is told of it and a checksum of all."""
    sealed = {"sha256": digest(tensors, told), **told}
    save(path, tensors, {"checkpoint": json.dumps(sealed)})  # several keys would stand in any order


def save(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors of the CPU as `safetensors.torch.save` lays them out, atomically.

    Straight from where they are: the library makes two copies of everything first (120 MB of state: 230 MB), or puts
    files of its own beside `path`, which a killed process leaves there.
    """
    order = sorted(tensors.items(), key=lambda item: (list(DTYPES).index(item[1].dtype), item[0]))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, tensor in order:
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with new_file(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, tensor in order:
            file.write(memory_of(tensor))


def memory_of(tensor: Tensor) -> Any:
    """The bytes of a tensor, where they are."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()


def read(data: bytes) -> Content:
    """The tensors of a file that `write` wrote, and what it tells of them.

    Raises: SafetensorError, KeyError or ValueError where it is not what was written.
    """
    tensors = load(data)
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])  # as the format lays it down
    told = json.loads(header["__metadata__"]["checkpoint"])
    return checked(tensors, told)


def load_file(path: Path) -> Content:
    """As `read`, of a file, which is never in memory twice.

    Raises: DataError where it is missing or not what was written.
    """
    try:
        with safe_open(path, "pt") as file:
            told = json.loads((file.metadata() or {}).get("checkpoint", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return checked(tensors, told)
    except FileNotFoundError:
        what = "no such file"
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"broken ({' '.join(str(error).split())})"
    raise DataError(f"{path}: {what}; expected weights that training wrote")


def checked(tensors: dict[str, Tensor], told: dict[str, Any]) -> Content:
    """Tensors and what is told of them, without the checksum that stood there.

    Raises: ValueError where it is another, or none.
    """
    if told.pop("sha256", None) != digest(tensors, told):
        raise ValueError("its checksum is another")
    return tensors, told


def digest(tensors: dict[str, Tensor], told: dict[str, Any]) -> str:
    """Hexadecimal SHA-256 over names, types, shapes and bytes of the tensors, and what is told of them."""
    found = hashlib.sha256(json.dumps(told).encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(memory_of(tensor))
    return found.hexdigest()
