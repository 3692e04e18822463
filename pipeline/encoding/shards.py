"""Sentences as ids on disk: each side of a part or shard is an array of ids and one of offsets, memory-mapped."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from ..common import parts
from ..common.files import DataError
from ..common.parts import Shard

Ids: TypeAlias = np.dtype[Any]
SIDES, KINDS = ("source", "target"), ("ids", "offsets")
CHECKSUMS = "checksums.json"  # of the training part's shards, so that a training need not read gigabytes to know them


class Ragged:
    """Rows of different length in one array: row i is `ids[offsets[i]:offsets[i + 1]]`."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray) -> None:
        self.ids, self.offsets = ids, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        assert index >= 0, f"rows count from 0, got {index}"
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """The length of every row, in the smallest type that has room for one more piece."""
        lengths = np.diff(self.offsets)
        return lengths.astype(np.min_scalar_type(int(lengths.max(initial=0)) + 1))


class Joined:
    """The rows of several shards, one after the other."""

    def __init__(self, shards: Sequence[Ragged]) -> None:
        self.shards, self.ends = shards, np.cumsum([len(shard) for shard in shards]).tolist()

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, index: int) -> np.ndarray:
        number = bisect_right(self.ends, index)
        return self.shards[number][index - (self.ends[number - 1] if number else 0)]

    @property
    def lengths(self) -> np.ndarray:
        """As those of `Ragged`."""
        return np.concatenate([shard.lengths for shard in self.shards])


@dataclass(frozen=True)
class Encoded:
    """Both sides of one part."""

    source: Ragged | Joined
    target: Ragged | Joined
    shards: tuple[Shard, ...] = ()  # of the training part

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The part that `write` wrote into `folder`, mapped."""
        source, target = open_sides(folder, "")
        return cls(source, target)

    @classmethod
    def open_bitexts(cls, folder: Path, left_out: Collection[str]) -> Self:
        """The training part below `folder` without some bitexts, mapped."""
        shards = tuple(shard for shard in parts.read_bitexts(folder) if shard.bitext not in left_out)
        source, target = zip(*(open_sides(folder / parts.TRAIN, f"{shard.name}.") for shard in shards), strict=True)
        return cls(Joined(source), Joined(target), shards)


def open_sides(folder: Path, name: str) -> list[Ragged]:
    """Source and target of the arrays in a folder whose files begin with `name`."""
    return [Ragged(*(map_array(folder / f"{name}{side}.{kind}.npy") for kind in KINDS)) for side in SIDES]


def map_array(path: Path) -> np.ndarray:
    """The array in a .npy file, mapped.

    Raises: DataError if the file is missing or incomplete.
    """
    try:
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (FileNotFoundError, ValueError, EOFError) as error:
        raise DataError(f"{path}: {error}; expected an array of the stage encode") from None
    return array.view(np.ndarray)  # still mapped; a slice of np.memmap costs several times as much


def pack(sentences: Sequence[Sequence[int]], vocabulary_size: int) -> Ragged:
    """Sentences as rows, in memory; ids of the smallest of uint16 and uint32."""
    dtype: Ids = np.dtype(np.uint32 if vocabulary_size > 1 << 16 else np.uint16)
    offsets = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    return Ragged(np.fromiter(chain.from_iterable(sentences), dtype, count=int(offsets[-1])), offsets)


def write(folder: Path, name: str, sides: Mapping[str, Sequence[Ragged]]) -> list[Path]:
    """Write sides, each in blocks, as arrays in files whose names begin with `name`; returns their paths.

    Plain writes: on a full disk a mapped page kills the process, but a write fails with ENOSPC.
    """
    paths = []
    for side, blocks in sides.items():
        offsets = np.cumsum(np.concatenate([[0], *(np.diff(block.offsets) for block in blocks)]), dtype=np.int64)
        arrays = np.concatenate([block.ids for block in blocks]), offsets.astype(np.min_scalar_type(int(offsets[-1])))
        for kind, array in zip(KINDS, arrays, strict=True):
            paths.append(folder / f"{name}{side}.{kind}.npy")
            np.save(paths[-1], array)
    return paths
