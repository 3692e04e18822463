"""Parallel text to ids on disk, in several processes and constant memory."""

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..common import cores, files
from ..compute import ids
from ..console import cli
from ..console.progress import track
from ..vocabularies.vocabulary import Vocabulary
from . import shards
from .shards import Encoded

Pairs: TypeAlias = list[tuple[str, str]]

BLOCK_PAIRS = 5_000
CHUNK = 1 << 20  # ids compared at once
POOL_PAIRS = 200_000  # with fewer, starting processes costs more time than it saves


def encode_part(vocabulary: Path, source: Path, target: Path, folder: Path) -> dict[str, int]:
    """Write the ids of two parallel files into the new `folder`, and count pairs, tokens and unknown pieces.

    Raises: DataError if the files are not parallel or not UTF-8.
    """
    num_pairs = files.count_lines(source)
    pairs = track(files.read_pairs(source, target), f"encode {folder.name}", total=num_pairs, unit="pairs")
    blocks = iter(lambda: list(islice(pairs, BLOCK_PAIRS)), [])
    folder.mkdir(parents=True)
    encoded = encode_blocks(vocabulary, blocks, cores.count() if num_pairs >= POOL_PAIRS else 1)
    loaded = Vocabulary.load(vocabulary)
    shards.write(folder, encoded, (loaded.source_size, loaded.target_size))
    part = Encoded.open(folder)
    columns = {"source": part.source.ids, "target": part.target.ids}
    tokens = {f"{side}_tokens": len(column) for side, column in columns.items()}
    unknown = {f"{side}_unknown": count(column, ids.UNK) for side, column in columns.items()}
    return {"pairs": num_pairs, **tokens, **unknown}


def count(column: np.ndarray, piece: int) -> int:
    """How often a piece occurs in a mapped column, in bounded memory."""
    chunks = np.array_split(column, len(column) // CHUNK + 1)
    return sum(int(np.count_nonzero(chunk == piece)) for chunk in chunks)


def encode_blocks(folder: Path, read: Iterable[Pairs], num_processes: int) -> Iterator[Encoded]:
    """The encoded blocks, in order; only a few are read ahead, while `Pool.imap` would read all of them."""
    if num_processes == 1:
        vocabulary = Vocabulary.load(folder)
        yield from (encode_block(vocabulary, block) for block in read)
        return
    waiting: deque[Future[Encoded]] = deque()
    spawn = multiprocessing.get_context("spawn")  # a fork would copy the locks that the caller's threads hold
    with ProcessPoolExecutor(num_processes, spawn, initializer=cli.end_with_parent) as pool:
        for block in read:
            waiting.append(pool.submit(encode_in_worker, folder, block))
            if len(waiting) > 2 * num_processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def encode_in_worker(folder: Path, block: Pairs) -> Encoded:
    """`encode_block` in a process of its own, which loads its vocabulary once."""
    return encode_block(load_once(folder), block)


load_once = cache(Vocabulary.load)


def encode_block(vocabulary: Vocabulary, block: Pairs) -> Encoded:
    """The ids of some pairs."""
    source, target = zip(*block, strict=True)
    return Encoded(
        shards.pack(vocabulary.encode_source(source), vocabulary.source_size),
        shards.pack(vocabulary.encode_target(target), vocabulary.target_size),
    )
