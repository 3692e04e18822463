"""What a contestant that trains is given and answers; imports only what the peers' environment has too."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch
from contestants.peak import peak_gib
from contestants.pieces import BOS, EOS, PAD
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
POOL_PAIRS = 100_000  # that are sorted by length together
SMALL_RATE = 1e-4  # where only the speed is asked for
POSITIONS = 1000  # more than any sentence has


class Job(NamedTuple):
    """A model, data and how long to train."""

    data: str  # folder of an encoded part
    vocabulary: int  # pieces, the same on both sides
    layers: int  # of the encoder, and of the decoder
    width: int
    heads: int
    feed_forward: int
    dropout: float
    label_smoothing: float
    positions: int  # at most, of an update: sentences * the longest of either side
    precision: str
    warm_up: int  # updates that are not timed
    updates: int  # that are
    seed: int
    parts: int = 1  # micro-batches of an update, which processes share out; the peers know of one
    exact: bool = True  # whether any number of processes gives the same bytes, as only ours can
    norm: str = "pre"  # or post, of the layers; eole knows pre only
    modern: bool = False  # whether ours trains transformer_modern in its place
    lsi_pairs: int = 0  # whether ours starts its embeddings by cross-language LSI, and from how many pairs at most
    peak_rate: float = 0.0  # after `warm_up_rate` updates, then falling to 0 at the last; 0: no matter, a small one
    warm_up_rate: int = 0
    save: str = ""  # folder for the weights
    average: bool = True  # of the last tenth, as only ours does; else the last weights

    @classmethod
    def read(cls) -> Self:
        """The job file named last on the command line."""
        return cls(**json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8")))


class Batch(NamedTuple):
    """One update: source (B, S) with EOS, target_input (B, T) with BOS, target_output (B, T) with EOS, padded."""

    source: Tensor
    target_input: Tensor
    target_output: Tensor

    def to(self, device: torch.device) -> "Batch":
        """A copy on `device`."""
        return Batch(*(tensor.to(device) for tensor in self))


def sentences(folder: str, side: str) -> list[np.ndarray]:
    """The ids of every sentence of a side of an encoded part."""
    ids, offsets = (np.load(Path(folder, f"{side}.{column}.npy")) for column in ("ids", "offsets"))
    return [ids[begin:end].astype(np.int64) for begin, end in pairwise(offsets)]


def batches(job: Job) -> Iterator[Batch]:
    """Batches of like length within the job's positions, shuffled, without end."""
    source, target = sentences(job.data, "source"), sentences(job.data, "target")
    draw = np.random.default_rng(job.seed)
    while True:
        order = draw.permutation(len(source))
        for pool in np.array_split(order, -(-len(order) // POOL_PAIRS)):
            rows = sorted(pool, key=lambda i: (max(len(source[i]), len(target[i])), len(target[i]), len(source[i])))
            groups = cut(rows, source, target, job.positions)
            for group in draw.permutation(len(groups)):
                yield collate([source[i] for i in groups[group]], [target[i] for i in groups[group]])


def cut(rows: list[int], source: list[np.ndarray], target: list[np.ndarray], positions: int) -> list[list[int]]:
    """Neighbours together, as many as fit."""
    groups: list[list[int]] = [[]]
    longest = 0
    for row in rows:
        longest = max(longest, len(source[row]) + 1, len(target[row]) + 1)
        if groups[-1] and (len(groups[-1]) + 1) * longest > positions:
            groups.append([])
            longest = max(len(source[row]), len(target[row])) + 1
        groups[-1].append(row)
    return groups


def collate(source: list[np.ndarray], target: list[np.ndarray]) -> Batch:
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


def race_plainly(job: Job, model: nn.Module, logits: Callable[[Batch], Tensor]) -> None:
    """Race with the loop that anyone would write: forward, backward, clip, Adam's step."""
    number = 0
    model.to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=SMALL_RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def update(batch: Batch) -> None:
        nonlocal number
        number += 1
        batch = batch.to(DEVICE)
        optimizer.param_groups[0]["lr"] = rate(job, number)
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=job.precision == "bf16"):
            scores = logits(batch)
        loss = F.cross_entropy(
            scores.float().flatten(0, 1),
            batch.target_output.flatten(),
            ignore_index=PAD,
            label_smoothing=job.label_smoothing,
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    race(job, update)
    if job.save:
        save_file({name: value.clone() for name, value in model.state_dict().items()}, f"{job.save}/model.safetensors")


def rate(job: Job, number: int) -> float:
    """The learning rate of an update."""
    if not job.peak_rate:
        return SMALL_RATE
    if number <= job.warm_up_rate:
        return job.peak_rate * number / job.warm_up_rate
    return job.peak_rate * (job.updates + 1 - number) / (job.updates + 1 - job.warm_up_rate)


def race(job: Job, update: Callable[[Batch], object]) -> None:
    """Update on batches, the first of them untimed, and print what came of it."""
    feed = batches(job)
    tokens = real = positions = 0
    began = 0.0
    for number in range(job.warm_up + job.updates):
        if number == job.warm_up:
            tokens, real, positions, began = 0, 0, 0, clock()
        now = next(feed)
        update(now)
        tokens += int((now.target_output != PAD).sum())
        real += int((now.source != PAD).sum() + (now.target_output != PAD).sum())
        positions += now.source.numel() + now.target_output.numel()
    answer(tokens, clock() - began, 1 - real / positions)


def clock() -> float:
    """Seconds, once a GPU has done all that was asked of it."""
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def answer(tokens: int, seconds: float, padding_share: float | None) -> None:
    """The last line of a contestant's output: real target tokens, their time, the padding, the peak of memory."""
    figures = {"tokens": tokens, "seconds": seconds, "padding_share": padding_share, "peak_gib": peak_gib()}
    print(json.dumps(figures))
