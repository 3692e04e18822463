"""Parallel text to ids on disk, shard by shard."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..common import files, parts, work
from ..common.parts import Pair, Shard
from ..compute import ids
from ..console.progress import track
from ..vocabularies.vocabulary import Vocabulary
from . import shards

BLOCK_PAIRS = 5_000  # whose ids are lists of Python at a time

Counts = dict[str, Any]


def encode_bitexts(vocabulary: Path, split: Path, folder: Path, tags: Mapping[str, str]) -> Counts:
    """Write the ids of the training part's shards into a folder of work; counts in all and, as `bitexts`, of each.

    A bitext's piece of `tags` stands in front of each of its sources.

    Raises: DataError if the vocabulary lacks a tag.
    """
    listed, data = parts.read_bitexts(split), folder / work.DATA
    pieces, tag_ids = Vocabulary.load(vocabulary).source, {}
    for bitext, tag in tags.items():
        if (number := pieces.tag_id(tag)) is None:
            raise files.DataError(f"tags.{bitext}: {vocabulary} was made without it, got {tag!r}; expected its tags")
        tag_ids[bitext] = number
    encode = partial(encode_shard, vocabulary, split, data, tag_ids)
    checksums, total = {}, Counter[str]()
    bitexts = {shard.bitext: Counter[str]() for shard in listed}
    results = track(work.map_shards(encode, listed, folder, "encode"), "encode", total=len(listed), unit="shards")
    for shard, (counts, checksums[shard.name]) in zip(listed, results, strict=True):
        bitexts[shard.bitext].update(counts)
        total.update(counts)
    parts.write_bitexts(data, listed)
    files.write_json(data / parts.TRAIN / shards.CHECKSUMS, checksums)
    return {**total, "bitexts": bitexts}


def encode_shard(
    vocabulary: Path, split: Path, folder: Path, tag_ids: Mapping[str, int], shard: Shard
) -> tuple[Counts, str]:
    """Write the ids of a shard; its counts, and the SHA-256 of its files."""
    tag = [tag_ids[shard.bitext]] if shard.bitext in tag_ids else []
    (folder / parts.TRAIN / shard.bitext).mkdir(parents=True, exist_ok=True)
    pairs = zip(*shard.lines(split), strict=True)
    counts, paths = encode(vocabulary, pairs, folder / parts.TRAIN, f"{shard.name}.", tag)
    return counts, files.sha256(*paths)


def encode_part(vocabulary: Path, split: Path, part: str, folder: Path) -> Counts:
    """Write the ids of a part but the training part into `folder`; its counts.

    Raises: DataError if its files are not parallel or not UTF-8.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return encode(vocabulary, parts.read(split, part), folder, "")[0]


def encode(
    vocabulary: Path, pairs: Iterable[Pair], folder: Path, name: str, tag: Sequence[int] = ()
) -> tuple[Counts, list[Path]]:
    """Write the ids of pairs into files whose names begin with `name`: counts of pairs, tokens and unknown pieces."""
    loaded, remaining = Vocabulary.load(vocabulary), iter(pairs)
    sources, targets = [shards.pack([], loaded.source_size)], [shards.pack([], loaded.target_size)]
    while block := list(islice(remaining, BLOCK_PAIRS)):
        source, target = zip(*block, strict=True)
        encoded = loaded.encode_source(source)
        sources.append(shards.pack([[*tag, *row] for row in encoded] if tag else encoded, loaded.source_size))
        targets.append(shards.pack(loaded.encode_target(target), loaded.target_size))
    sides = {"source": sources, "target": targets}
    paths = shards.write(folder, name, sides)
    tokens = {f"{side}_tokens": sum(len(rows.ids) for rows in blocks) for side, blocks in sides.items()}
    unknown = {
        f"{side}_unknown": sum(int(np.count_nonzero(rows.ids == ids.UNK)) for rows in blocks)
        for side, blocks in sides.items()
    }
    return {"pairs": sum(map(len, sources)), **tokens, **unknown}, paths
