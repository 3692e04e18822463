"""Finds duplicates in a stream too long to keep in memory, by 8 bytes for each text."""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def digest(text: str, salt: bytes = b"") -> bytes:
    """8 bytes that stand for `text`, the same on every machine.

    Units: two different texts among n share theirs with probability n^2 / 2^65: 1 in 20,000 for 40 million.
    """
    return hashlib.blake2b(text.encode(), digest_size=8, salt=salt).digest()


def keys(digests: Sequence[bytes] | bytearray) -> Keys:
    """Digests as an array of numbers."""
    joined = digests if isinstance(digests, bytearray) else b"".join(digests)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64, copy=False)


def contains(run: Keys, wanted: Keys) -> Flags:
    """For each key wanted, whether it is in the sorted `run`, which holds at least one."""
    at = np.minimum(np.searchsorted(run, wanted), len(run) - 1)
    return run[at] == wanted


class Seen:
    """A set of keys that grows by batches: sorted arrays, each at least twice as long as the next one.

    Units: MB per million keys: 8 at rest, 18 at the peak, while two arrays are merged (measured: 87 MB for 5 million
        keys, 570 MB for 40 million). A Python set of the same numbers takes 74 to 107.
    """

    def __init__(self) -> None:
        self.runs: list[Keys] = []

    def add(self, batch: Keys) -> Flags:
        """Which keys of the batch are new, the first of equal ones; they are in the set from now on."""
        distinct, first = np.unique(batch, return_index=True)
        new = np.ones(len(distinct), dtype=np.bool_)
        for run in self.runs:
            new &= ~contains(run, distinct)
        fresh = np.zeros(len(batch), dtype=np.bool_)
        fresh[first[new]] = True
        if new.any():
            self.runs.append(distinct[new])
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]):
            merged = np.concatenate([self.runs.pop(), self.runs.pop()])
            merged.sort(kind="stable")  # finds the two sorted halves and merges them
            self.runs.append(merged)
        return fresh
