"""The job of a contestant that translates: a trained Transformer, sentences, and how to search."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.contestants.machine import peak_gib

WARM_UP = 50  # sentences translated before the clock starts
# Of section `decode`, what every contestant knows.
SEARCH = ("beam_size", "length_penalty", "max_length_factor", "max_length_offset", "tokens_per_batch")


class Job(NamedTuple):
    """The same weights for every contestant."""

    folder: str  # holds weights.safetensors (ours), float32/ and int8/ (CTranslate2)
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

    @classmethod
    def read(cls) -> Self:
        """The job file named last on the command line."""
        return cls(**json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8")))


def race(job: Job, translate: Callable[[list[list[int]]], list[list[int]]]) -> None:
    """Time all sentences, after some that are not timed, and print the figures."""
    translate(job.sources[:WARM_UP])
    began = time.perf_counter()
    translations = translate(job.sources)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak_gib": peak_gib(), "translations": translations}))
