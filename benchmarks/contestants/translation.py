"""What a contestant that translates is given and answers; imports only what runs where the peers do."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from contestants.peak import peak_gib
from contestants.pieces import BOS, EOS, PAD

EPSILON = 1e-6  # of our layer norms
WARM_UP = 50  # sentences translated before the clock starts


class Job(NamedTuple):
    """A trained Transformer, sentences, and how to search."""

    folder: str  # holds weights.safetensors (ours), float32/, int8/ (CTranslate2), or what the contestant trained
    sources: list[list[int]]  # ids, without EOS
    norm: str  # pre or post
    layers: int  # of the encoder, and of the decoder
    width: int
    heads: int
    feed_forward: int
    vocabulary: int  # pieces, the same on both sides
    beam_size: int
    length_penalty: float
    max_length_factor: float
    max_length_offset: int
    tokens_per_batch: int  # sentences * longest source, EOS counted
    threads: int
    modern: bool = False  # whether ours is transformer_modern in place of the one with `norm`

    @classmethod
    def read(cls) -> Self:
        """The job file named last on the command line."""
        return cls(**json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8")))


def batches(sources: list[list[int]], tokens_per_batch: int) -> Iterator[list[int]]:
    """Which sentences go together: the longest first, each batch within the budget."""
    batch: list[int] = []
    for index in sorted(range(len(sources)), key=lambda i: -len(sources[i])):
        if batch and (len(batch) + 1) * (len(sources[batch[0]]) + 1) > tokens_per_batch:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def race(job: Job, translate: Callable[[list[list[int]]], list[list[int]]]) -> None:
    """Time all sentences, after some that are not timed, and print what came of it."""
    translate(job.sources[:WARM_UP])
    began = time.perf_counter()
    found = translate(job.sources)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak_gib": peak_gib(), "translations": found}))


def race_in_batches(job: Job, translate: Callable[[list[list[int]]], list[list[int]]]) -> None:
    """Race with what translates one batch."""

    def all_of(sources: list[list[int]]) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in sources]
        for batch in batches(sources, job.tokens_per_batch):
            for index, line in zip(batch, translate([sources[i] for i in batch]), strict=True):
                found[index] = line
        return found

    race(job, all_of)


def cut(line: list[int]) -> list[int]:
    """What stands between the special pieces."""
    line = [piece for piece in line if piece not in (PAD, BOS)]
    return line[: line.index(EOS)] if EOS in line else line
