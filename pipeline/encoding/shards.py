"""Sentences as ids on disk: each side of a part is an array of ids and one of offsets, memory-mapped."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from ..common.files import DataError

Ids: TypeAlias = np.dtype[Any]
SIDES, KINDS = ("source", "target"), ("ids", "offsets")
ID_TYPES = np.dtype(np.uint16), np.dtype(np.uint32)
OFFSET_TYPE = np.dtype(np.int64)


class Block(NamedTuple):
    """Sentences of one side: their ids, one after the other, and the length of each."""

    ids: np.ndarray
    lengths: np.ndarray


class Ragged:
    """Rows of different length in one array: row i is `ids[offsets[i]:offsets[i + 1]]`."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray) -> None:
        self.ids, self.offsets = ids, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        assert index >= 0, f"rows count from 0, got {index}"
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @cached_property
    def lengths(self) -> np.ndarray:
        """The length of every row, int32."""
        return np.diff(self.offsets).astype(np.int32)


@dataclass(frozen=True)
class Encoded:
    """Both sides of one part."""

    source: Ragged
    target: Ragged

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the part that a `Writer` wrote into `folder`."""
        return cls(*(Ragged(*(map_array(folder / f"{side}.{kind}.npy") for kind in KINDS)) for side in SIDES))


def map_array(path: Path) -> np.ndarray:
    """The array in a .npy file, mapped.

    Raises: DataError if the file is missing or incomplete.
    """
    try:
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (FileNotFoundError, ValueError, EOFError) as error:
        raise DataError(f"{path}: {error}; expected an array of the stage encode") from None
    return array.view(np.ndarray)  # still mapped; a slice of np.memmap costs several times as much


def id_type(vocabulary_size: int) -> Ids:
    """The smallest type for ids below `vocabulary_size`: uint16, past 65,536 uint32."""
    return ID_TYPES[vocabulary_size > 1 << 16]


def pack(sentences: Sequence[Sequence[int]], dtype: Ids) -> Block:
    """Sentences as a block."""
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    return Block(np.fromiter(chain.from_iterable(sentences), dtype=dtype, count=int(lengths.sum())), lengths)


class Writer:
    """Writes a part block after block, in constant memory; the files do not depend on the size of the blocks."""

    def __init__(self, folder: Path, source_type: Ids, target_type: Ids) -> None:
        self.columns = [
            (Column(folder / f"{side}.ids.npy", dtype), Column(folder / f"{side}.offsets.npy", OFFSET_TYPE))
            for side, dtype in zip(SIDES, (source_type, target_type), strict=True)
        ]
        for _, offsets in self.columns:
            offsets.append(np.zeros(1, OFFSET_TYPE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for column in chain.from_iterable(self.columns):
            column.close()

    def __call__(self, source: Block, target: Block) -> None:
        """Add the rows of a block of each side."""
        for (ids, offsets), block in zip(self.columns, (source, target), strict=True):
            offsets.append(ids.length + np.cumsum(block.lengths))
            ids.append(block.ids)


class Column:
    """A .npy file that grows at its end.

    Plain writes, not `open_memmap`: on a full disk a mapped page kills the process, but a write fails with ENOSPC.
    """

    def __init__(self, path: Path, dtype: Ids) -> None:
        self.path, self.file, self.dtype, self.length = path, path.open("wb"), dtype, 0
        self.file.write(header(dtype, 0))

    def append(self, values: np.ndarray) -> None:
        """Add `values` at the end."""
        assert values.dtype == self.dtype, f"got {values.dtype}; expected {self.dtype}"
        self.file.write(values.tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Write the final length into the header."""
        with self.file:
            self.file.seek(0)
            self.file.write(header(self.dtype, self.length))


def header(dtype: Ids, length: int) -> bytes:
    """The header of a .npy file, of the same size for every `length`: numpy leaves room for the dimension to grow."""
    head = io.BytesIO()
    description = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(head, {"descr": description, "fortran_order": False, "shape": (length,)})
    return head.getvalue()
