"""Pairs, sources or targets that stand in the training part before, in whatever shard.

Every shard writes its keys. Those of all shards are sorted together; of equal ones all but the first, in order of
trust, are duplicates.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..common.parts import Pair, Shard
from .comparison import digest


def keys(pairs: Iterable[Pair], kind: str) -> np.ndarray:
    """8 bytes for each pair, its source or its target."""
    if kind == "pair":
        texts: Iterable[str] = (f"{source}\n{target}" for source, target in pairs)
    else:
        texts = (pair[kind == "target"] for pair in pairs)
    return np.frombuffer(b"".join(map(digest, texts)), "<u8")


def write_keys(shard: Shard, pairs: Iterable[Pair], kind: str, folder: Path) -> None:
    """Write the keys of a shard's pairs."""
    written = path(shard, kind, folder, "keys")
    written.parent.mkdir(parents=True, exist_ok=True)
    np.save(written, keys(pairs, kind))


def find(shards: Sequence[Shard], kind: str, folder: Path) -> None:
    """Find the duplicates among the pairs of all shards, whose keys are written.

    Units: memory holds 26 bytes a pair.
    """
    together = np.concatenate([np.load(path(shard, kind, folder, "keys")) for shard in shards])
    order = np.argsort(together, kind="stable")  # equal keys stay in order of trust
    together = together[order]
    repeated = np.zeros(len(order), dtype=bool)
    repeated[order[1:]] = together[1:] == together[:-1]
    ends = np.cumsum([shard.pairs for shard in shards])
    for shard, of_shard in zip(shards, np.split(repeated, ends[:-1]), strict=True):
        np.save(path(shard, kind, folder, "repeated"), of_shard)


def repeated(shard: Shard, kind: str, folder: Path) -> np.ndarray:
    """Whether each pair of a shard is a duplicate, as `find` has written."""
    return np.load(path(shard, kind, folder, "repeated"))


def path(shard: Shard, kind: str, folder: Path, what: str) -> Path:
    """Where an array about a shard is."""
    return folder / f"keys/{kind}/{shard.name}.{what}.npy"
