"""Pairs, sources or targets that stand in the training part before, in whatever shard: in bounded memory.

Every shard writes its keys, sorted. A bucket of keys, all that begin alike, is brought together from all shards; of
equal ones all but the first, in order of trust, are duplicates. Each shard then asks the buckets for its own.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..common import work
from ..common.parts import Pair, Shard
from .comparison import digest

BUCKET_KEYS = 1_000_000  # 40 MB of memory
PLACE_BITS = 32  # of a line in its shard; the bits above are the shard's number


def keys(pairs: Iterable[Pair], kind: str) -> np.ndarray:
    """8 bytes for each pair, its source or its target."""
    if kind == "pair":
        texts: Iterable[str] = (f"{source}\n{target}" for source, target in pairs)
    else:
        texts = (pair[kind == "target"] for pair in pairs)
    return np.frombuffer(b"".join(map(digest, texts)), "<u8")


def write_keys(shard: Shard, pairs: Sequence[Pair], kind: str, folder: Path) -> None:
    """Write the keys of a shard's pairs, sorted, and the line of each."""
    shard_keys = keys(pairs, kind)
    order = np.argsort(shard_keys, kind="stable")
    for path, array in zip(paths(shard, kind, folder), (shard_keys[order], order.astype(np.uint32)), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, array)


def paths(shard: Shard, kind: str, folder: Path) -> tuple[Path, Path]:
    """Where a shard's keys and their lines are."""
    return folder / f"keys/{kind}/{shard.name}.keys.npy", folder / f"keys/{kind}/{shard.name}.lines.npy"


def find(shards: Sequence[Shard], kind: str, folder: Path) -> None:
    """Find the duplicates among the pairs of all shards, whose keys are written."""
    num_buckets = 1 + sum(shard.pairs for shard in shards) // BUCKET_KEYS
    bucket = partial(write_bucket, num_buckets=num_buckets, shards=shards, kind=kind, folder=folder)
    list(work.map_shards(bucket, range(num_buckets), folder, f"duplicates-{kind}"))


def write_bucket(number: int, num_buckets: int, shards: Sequence[Shard], kind: str, folder: Path) -> None:
    """Write the places of the duplicates in one bucket, sorted."""
    first, last = np.uint64((number << 64) // num_buckets), np.uint64(((number + 1) << 64) // num_buckets - 1)
    bucket_keys, places = list[np.ndarray](), list[np.ndarray]()
    for index, shard in enumerate(shards):
        shard_keys, lines = (np.load(path, mmap_mode="r") for path in paths(shard, kind, folder))
        inside = slice(np.searchsorted(shard_keys, first), np.searchsorted(shard_keys, last, "right"))
        bucket_keys.append(shard_keys[inside])
        places.append(lines[inside] + np.uint64(index << PLACE_BITS))
    together = np.concatenate(bucket_keys)
    order = np.argsort(together, kind="stable")  # equal keys stay in order of trust
    together = together[order]
    repeated = order[1:][together[1:] == together[:-1]]
    np.save(folder / f"keys/{kind}/{number}.npy", np.sort(np.concatenate(places)[repeated]))


def lines(index: int, kind: str, folder: Path) -> np.ndarray:
    """The lines of shard number `index` that are duplicates."""
    found = []
    for path in folder.glob(f"keys/{kind}/*.npy"):
        places = np.load(path, mmap_mode="r")
        first, end = (np.searchsorted(places, np.uint64(number << PLACE_BITS)) for number in (index, index + 1))
        found.append(places[first:end] & np.uint64((1 << PLACE_BITS) - 1))
    return np.concatenate(found)
