"""Sentences as ids on disk: each side of a part is an array of ids and one of offsets, memory-mapped."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self, TypeAlias

import numpy as np

from ..common.files import DataError

Ids: TypeAlias = np.dtype[Any]
SIDES, KINDS = ("source", "target"), ("ids", "offsets")


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
    """Both sides of one part, or of a block of its pairs."""

    source: Ragged
    target: Ragged

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The part that `write` wrote into `folder`, mapped."""
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
    return np.dtype(np.uint32 if vocabulary_size > 1 << 16 else np.uint16)


def pack(sentences: Sequence[Sequence[int]], vocabulary_size: int) -> Ragged:
    """Sentences as rows, in memory."""
    dtype = id_type(vocabulary_size)
    offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    return Ragged(np.fromiter(chain.from_iterable(sentences), dtype, count=int(offsets[-1])), offsets)


def write(folder: Path, blocks: Iterable[Encoded], vocabulary_sizes: Iterable[int]) -> None:
    """Write a part into `folder`, block after block; the files do not depend on the size of the blocks.

    The ids pass through memory, 4 bytes a sentence and side stay in it. Plain writes, not `open_memmap`: on a full disk
    a mapped page kills the process, but a write fails with ENOSPC.
    """
    lengths: tuple[list[np.ndarray], ...] = ([], [])
    types = [id_type(size) for size in vocabulary_sizes]
    with ExitStack() as stack:
        columns = [stack.enter_context((folder / f"{side}.ids.npy").open("wb")) for side in SIDES]
        for file, dtype in zip(columns, types, strict=True):
            write_header(file, dtype, 0)
        for block in blocks:
            for file, rows, above in zip(columns, (block.source, block.target), lengths, strict=True):
                file.write(rows.ids.tobytes())
                above.append(rows.lengths)
        for side, file, dtype, above in zip(SIDES, columns, types, lengths, strict=True):
            offsets = np.cumsum(np.concatenate([[0], *above]), dtype=np.int64)
            np.save(folder / f"{side}.offsets.npy", offsets)
            file.seek(0)
            write_header(file, dtype, int(offsets[-1]))


def write_header(file: IO[bytes], dtype: Ids, length: int) -> None:
    """The header of a .npy file, of the same size for every `length`: numpy leaves room for the dimension to grow."""
    description = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(file, {"descr": description, "fortran_order": False, "shape": (length,)})
