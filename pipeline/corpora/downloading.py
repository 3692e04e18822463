"""Writes the parts of a corpus, `<part>.{source,target}.txt`, from its sources, and records these."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from ..common import files, parts
from ..console import progress
from . import archives, readers, sources
from .fetching import Downloads
from .importers import interface

Record = dict[str, Any]


def write_part(name: str, download: sources.Download, downloads: Downloads, out: Path) -> Record:
    """Write part `name` into the folder `out`; returns its number of pairs, and address, sha256 and bytes of its files.

    `train` may hold bytes that are not UTF-8: `clean` counts them. In any other part they are an error.
    Raises: DataError if a source fails or holds no pair.
    """
    texts = dict[str, readers.TextFile]()
    pairs = progress.track(read(name, download, downloads, texts), f"write {name}", total=None, unit="pairs")
    source, target = parts.paths(out, name)
    count = 0
    with files.new_file(source, "wb") as left, files.new_file(target, "wb") as right:
        for count, pair in enumerate(pairs, 1):  # noqa: B007
            left.write(pair[0] + b"\n")
            right.write(pair[1] + b"\n")
    if count == 0:
        where = " and ".join(texts) or download.sources(name)[0].kind
        raise files.DataError(f"{where}: part {name} is empty, got 0 pairs; expected some")
    records = {
        text.address: {
            "address": text.address,
            **({"commit": text.commit} if text.commit else {}),
            "sha256": files.sha256(text.path),
            "bytes": text.path.stat().st_size,
        }
        for text in texts.values()
    }
    return {"pairs": count, "files": list(records.values())}


def read(
    part: str, download: sources.Download, downloads: Downloads, texts: dict[str, readers.TextFile]
) -> Iterator[readers.RawPair]:
    """The pairs of a part, from one file or pair of files after the other; `texts` gets the files by name.

    Of several files the count of each is shown. Fetched files that turn out to be damaged or not parallel are deleted,
    to be fetched again next time.
    Raises: DataError.
    """
    counts = []
    groups = (
        (source.kind, *group)
        for source in download.sources(part)
        for group in interface.find(source.kind).bitexts(source, download.languages, downloads)
    )
    for kind, group, pairs in groups:
        texts.update((str(text), text) for text in group)
        names, count = [*map(str, group)] or [kind], 0
        try:
            for count, pair in enumerate(pairs, 1):
                if part != parts.TRAIN:
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
        progress.say(part, *counts)


def remarks(download: sources.Download, now: dict[str, Record], before: dict[str, Record]) -> Iterator[str]:
    """A line for each public file that is not what it was when it was read before, or that may become another."""
    old = {file["address"]: file["sha256"] for part in before.values() for file in part["files"]}
    for name in download.parts:
        for source, file in product(download.sources(name), now[name]["files"]):
            address, sha256 = file["address"], file["sha256"]
            if source.is_public and old.get(address, sha256) != sha256:
                yield f"{address}: is not as it was read before, got sha256 {sha256}; was {old[address]}"
            if unpinned := source.unpinned(file):
                yield f"{unpinned[0]}: may change; `{unpinned[1]}` in the corpus's file pins it"
