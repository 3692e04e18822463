"""The job of a contestant that trains: a pre-norm Transformer, data, and how long to train."""

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from benchmarks.contestants.machine import peak_gib

SIZES = {
    "small": {"layers": 3, "width": 256, "heads": 4, "feed_forward": 1024},
    "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048},
}
LEARNING_RATE = 1e-4
POOL_PAIRS = 100_000  # that are sorted by length together
MAX_LENGTH = 1000  # more than any sentence has


class Job(NamedTuple):
    """A training of which only the speed is asked for."""

    data: str  # folder of an encoded part
    vocabulary: int  # pieces, the same on both sides
    layers: int  # of the encoder, and of the decoder
    width: int
    heads: int
    feed_forward: int
    dropout: float
    positions: int  # of an update at most: sentences * the longest of either side
    precision: str
    warm_up: int  # updates that are not timed
    updates: int  # that are
    seed: int
    parts: int = 1  # micro-batches of an update, which processes share out
    exact: bool = True  # whether any number of processes gives the same bytes

    @classmethod
    def read(cls) -> Self:
        """The job file named last on the command line."""
        return cls(**json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8")))


def training_job(data: Path, size: str, **more: Any) -> dict[str, Any]:
    """A job on an encoded corpus, with what else a `Job` asks for."""
    joint = data.resolve().parents[1] / "vocabulary" / data.name / "vocabulary.json"
    about = json.loads(joint.read_text(encoding="utf-8")) if joint.exists() else {"joint": False}
    if not about["joint"]:
        sys.exit(f"{data}: expected what `dvc repro encode` builds with a joint vocabulary")
    part = str((data / "train").resolve())
    return {**SIZES[size], "data": part, "vocabulary": about["source_size"], "dropout": 0.1, **more}


def sentences(folder: str, side: str) -> list[list[int]]:
    """The ids of every sentence of a side of an encoded training part."""
    rows: list[list[int]] = []
    for path in sorted(Path(folder).glob(f"*/*.{side}.ids.npy")):
        ids, offsets = np.load(path), np.load(path.with_name(path.name.replace("ids", "offsets")))
        rows += (ids[begin:end].tolist() for begin, end in pairwise(offsets))
    return rows


def batches(lengths: list[tuple[int, int]], positions: int, seed: int) -> Iterator[list[int]]:
    """Rows of like length, as many as fit into the positions, in random order without end."""
    draw = np.random.default_rng(seed)
    while True:
        order = draw.permutation(len(lengths))
        for pool in np.array_split(order, -(-len(order) // POOL_PAIRS)):
            rows = sorted(pool.tolist(), key=lambda row: (max(lengths[row]), lengths[row][1], lengths[row][0]))
            groups: list[list[int]] = [[]]
            for row in rows:  # each is at least as long as those before it
                if groups[-1] and (len(groups[-1]) + 1) * (max(lengths[row]) + 1) > positions:
                    groups.append([])
                groups[-1].append(row)
            yield from (groups[index] for index in draw.permutation(len(groups)))


def answer(tokens: int, seconds: float, padding: float) -> None:
    """Print the figures: real target tokens, their time, the share of padding, the peak of memory."""
    print(json.dumps({"tokens": tokens, "seconds": seconds, "padding": padding, "peak_gib": peak_gib()}))
