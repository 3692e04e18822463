"""Writes the parts of a corpus from its sources, the training part in shards by bitext, and records the sources."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from ..common import files, parts
from ..console import progress
from . import archives, readers, sources
from .fetching import Downloads
from .importers import interface

Record = dict[str, Any]
Texts = dict[str, readers.TextFile]  # by their names in messages


def write_train(download: sources.Download, downloads: Downloads, out: Path) -> Record:
    """Write the bitexts of the training part into the folder `out`; returns pairs and files of all and of each.

    They may hold bytes that are not UTF-8: `clean` counts them. Of a bitext with `at_most` it reads the source twice.
    Raises: DataError if a source fails or holds no pair.
    """
    shards, records = list[parts.Shard](), dict[str, Record]()
    for name, source in download.bitexts.items():
        texts, chosen = Texts(), None
        read_all = partial(read, name, source, download.languages, downloads, texts)
        if source.at_most:
            chosen = smallest(progress.track(read_all(), f"choose {name}", total=None, unit="pairs"), source.at_most)
        pairs = progress.track(read_all(), f"write {name}", total=None, unit="pairs")
        written = list(parts.write_shards(out, name, pairs if chosen is None else compress(pairs, chosen)))
        num_pairs = sum(shard.pairs for shard in written)
        check_some(num_pairs, f"bitext {name}", source, texts)
        shards += written
        records[name] = {
            "pairs": num_pairs,
            "before_at_most": num_pairs if chosen is None else len(chosen),
            "licence": source.licence,
            "files": file_records(texts),
        }
    parts.write_bitexts(out, shards)
    every_file = [file for record in records.values() for file in record["files"]]
    return {"pairs": sum(shard.pairs for shard in shards), "files": every_file, "bitexts": records}


def smallest(pairs: Iterable[readers.RawPair], most: int) -> np.ndarray:
    """Whether each pair is among the `most` with the smallest hashes, of equal ones the first.

    So a pair that is drawn stays drawn whatever else the text holds, unless smaller ones come in. Memory: 17 bytes a
    pair.
    """
    digests = (hashlib.blake2b(b"\n".join(pair), digest_size=8).digest() for pair in pairs)
    hashes = np.fromiter((int.from_bytes(digest, "little") for digest in digests), np.uint64)
    if len(hashes) <= most:
        return np.ones(len(hashes), dtype=bool)
    last = np.partition(hashes, most - 1)[most - 1]
    chosen = hashes < last
    chosen[np.flatnonzero(hashes == last)[: most - chosen.sum()]] = True
    return chosen


def write_part(name: str, download: sources.Download, downloads: Downloads, out: Path) -> Record:
    """Write a part but the training part into the folder `out`; returns its number of pairs, and its files.

    Raises: DataError if its source fails, holds no pair or is not UTF-8.
    """
    [source], texts = download.sources(name), Texts()
    pairs = read(name, source, download.languages, downloads, texts, is_text=True)
    pairs = progress.track(pairs, f"write {name}", total=None, unit="pairs")
    num_pairs = parts.write_lines(parts.paths(out, name), pairs)
    check_some(num_pairs, f"part {name}", source, texts)
    return {"pairs": num_pairs, "files": file_records(texts)}


def check_some(num_pairs: int, what: str, source: interface.BaseSource, texts: Texts) -> None:
    """Check that there is a pair."""
    if not num_pairs:
        raise files.DataError(f"{' and '.join(texts) or source.kind}: {what} is empty, got 0 pairs; expected some")


def file_records(texts: Texts) -> list[Record]:
    """Address, sha256 and bytes of each file that the texts are of."""
    records = {
        text.address: {
            "address": text.address,
            **({"commit": text.commit} if text.commit else {}),
            "sha256": files.sha256(text.path),
            "bytes": text.path.stat().st_size,
        }
        for text in texts.values()
    }
    return list(records.values())


def read(
    name: str,
    source: interface.BaseSource,
    languages: interface.Languages,
    downloads: Downloads,
    texts: Texts,
    *,
    is_text: bool = False,
) -> Iterator[readers.RawPair]:
    """The pairs of a bitext or part, from one file or pair of files after the other; `texts` gets the files.

    Of several files the count of each is shown. Fetched files that turn out to be damaged or not parallel are deleted,
    to be fetched again next time.
    Raises: DataError, also if `is_text` and a line is not UTF-8.
    """
    counts = []
    for group, pairs in interface.find(source.kind).bitexts(source, languages, downloads):
        texts.update((str(text), text) for text in group)
        names, count = [*map(str, group)] or [source.kind], 0
        try:
            for count, pair in enumerate(pairs, 1):
                if is_text:
                    files.decoded(pair[0], names[0], count)
                    files.decoded(pair[1], names[-1], count)
                yield pair
        except (archives.Damaged, files.NotParallel):
            for text in group:
                if text.path.parent == downloads.folder:
                    text.path.unlink(missing_ok=True)
            raise
        counts.append(f"{count:,} pairs of {' and '.join(names)}")
    if len(counts) > 1:
        progress.say(name, *counts)


def remarks(download: sources.Download, now: dict[str, Record], before: dict[str, Record]) -> Iterator[str]:
    """A line for each public file that is not what it was when it was read before, or that may become another."""
    old = {file["address"]: file["sha256"] for part in before.values() for file in part["files"]}
    used = [(source, now[parts.TRAIN]["bitexts"][name]) for name, source in download.bitexts.items()]
    used += [(download.sources(name)[0], now[name]) for name in download.parts if name != parts.TRAIN]
    for source, record in used:
        for file in record["files"]:
            address, sha256 = file["address"], file["sha256"]
            if source.is_public and old.get(address, sha256) != sha256:
                yield f"{address}: is not as it was read before, got sha256 {sha256}; was {old[address]}"
            if unpinned := source.unpinned(file):
                yield f"{unpinned[0]}: may change; `{unpinned[1]}` in the corpus's file pins it"
