"""What every contestant is given and answers; imports only numpy and torch, so that it runs where the peers do."""

import itertools
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

PAD, UNK, BOS, EOS = range(4)
POOL = 20_000  # pairs that are sorted by length together


class Batch(NamedTuple):
    """One update: source (B, S) with EOS, target_input (B, T) with BOS, target_output (B, T) with EOS, padded."""

    source: Tensor
    target_input: Tensor
    target_output: Tensor


def job() -> SimpleNamespace:
    """The job file named on the command line."""
    return SimpleNamespace(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


def sentences(folder: Path, side: str) -> list[np.ndarray]:
    """The ids of every sentence of a side of an encoded part."""
    ids, offsets = (np.load(folder / f"{side}.{column}.npy") for column in ("ids", "offsets"))
    return [ids[begin:end].astype(np.int64) for begin, end in itertools.pairwise(offsets)]


def batches(folder: Path, tokens: int, seed: int = 1) -> Iterator[Batch]:
    """Batches of like length of about so many target tokens, without end."""
    source, target = sentences(folder, "source"), sentences(folder, "target")
    draw = np.random.default_rng(seed)
    while True:
        order = draw.permutation(len(source))
        for pool in np.array_split(order, max(1, len(order) // POOL)):
            rows = sorted(pool, key=lambda i: (len(target[i]), len(source[i])))
            ends = np.cumsum([len(target[i]) + 1 for i in rows])
            cuts = np.flatnonzero(np.diff(ends // tokens)) + 1
            groups = np.split(np.array(rows), cuts)
            for group in draw.permutation(len(groups)):
                yield batch([source[i] for i in groups[group]], [target[i] for i in groups[group]])


def batch(source: list[np.ndarray], target: list[np.ndarray]) -> Batch:
    """Sentences with their special pieces, padded at the end."""
    return Batch(
        padded([[*row, EOS] for row in source]),
        padded([[BOS, *row] for row in target]),
        padded([[*row, EOS] for row in target]),
    )


def padded(rows: list[list[int]]) -> Tensor:
    """(B, longest)."""
    table = np.full((len(rows), max(map(len, rows))), PAD)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return torch.from_numpy(table)


def race(given: SimpleNamespace, update: Callable[[Batch], object]) -> None:
    """Update on batches, first `warm_up` of them untimed, and print what came of it."""
    feed = batches(Path(given.data, "train"), given.tokens)
    tokens = positions = real = 0
    began = time.perf_counter()
    for number in range(given.warm_up + given.updates):
        if number == given.warm_up:
            tokens, began = 0, time.perf_counter()
        now = next(feed)
        update(now)
        tokens += int((now.target_output != PAD).sum())
        real += int((now.source != PAD).sum() + (now.target_output != PAD).sum())
        positions += now.source.numel() + now.target_output.numel()
    answer(tokens, time.perf_counter() - began, 1 - real / positions)


def answer(tokens: int, seconds: float, padding_share: float | None) -> None:
    """The last line of a contestant's output."""
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    figures = {"tokens": tokens, "seconds": seconds, "padding_share": padding_share, "peak_gib": peak / 2**20}
    print(json.dumps(figures))
