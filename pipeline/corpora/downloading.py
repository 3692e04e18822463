"""Writes the parts of a corpus, `<part>.{source,target}.txt`, from its sources, and records these."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..common import files, parts
from ..console import progress
from . import archives, hub, local, phrasebook, readers, sacrebleu_sets, sources, tables
from .fetching import Store

Record = dict[str, Any]


def write_part(name: str, download: sources.Download, store: Store, out: Path) -> Record:
    """Write part `name` into the folder `out`; returns its number of pairs, and address, sha256 and bytes of its files.

    `train` may hold bytes that are not UTF-8: `clean` counts them. In any other part they are an error.
    Raises: DataError if a source fails or holds no pair.
    """
    source, paths, texts = download.parts[name], parts.paths(out, name), dict[str, readers.Text]()
    count = write(read(name, download, store, texts), *paths, f"write {name}")
    if count == 0:
        where = " and ".join(texts) or source.kind
        raise files.DataError(f"{where}: part {name} is empty, got 0 pairs; expected some")
    records = {text.address: record(text) for text in texts.values()}
    return {"pairs": count, "files": list(records.values())}


def read(part: str, download: sources.Download, store: Store, texts: dict[str, readers.Text]) -> Iterator[readers.Pair]:
    """The pairs of a part, from one file or pair of files after the other; `texts` gets what was read, by name.

    Of several files the count of each is shown. Fetched files that turn out to be damaged or not parallel are deleted,
    to be fetched again next time.
    Raises: DataError.
    """
    source, languages = download.parts[part], (download.source_language, download.target_language)
    is_counted = isinstance(source, sources.Parallel) and len(source.groups) > 1
    for group in stored(source, languages, store):
        texts.update((text.name, text) for text in group)
        names, count = [text.name for text in group] or [source.kind], 0
        pairs = group_pairs(source, group, languages)
        if part != parts.TRAIN:
            pairs = readers.decoded(pairs, names[0], names[-1])
        try:
            for count, pair in enumerate(pairs, 1):  # noqa: B007 (the count is shown)
                yield pair
        except (archives.Damaged, readers.NotParallel):
            for text in group:
                if text.path.parent == store.folder:
                    text.path.unlink(missing_ok=True)
            raise
        if is_counted:
            progress.say(part, f"{count:,} pairs of {' and '.join(names)}")


def stored(source: sources.Source, languages: tuple[str, str], store: Store) -> Iterator[tuple[readers.Text, ...]]:
    """What is read together, a table or a source and a target text, on disk; nothing of the phrasebook.

    Raises: DataError if one is missing.
    """
    if isinstance(source, sources.Sacrebleu):
        pair, swapped = sacrebleu_sets.find(source.name, *languages)
        paths = sacrebleu_sets.texts(source.name, pair, source.reference or 1)
        sides = zip(("source", "reference"), paths, strict=True)
        texts = tuple(readers.Text(f"sacrebleu {source.name} {pair} {side}", path) for side, path in sides)
        yield texts[::-1] if swapped else texts
    elif isinstance(source, sources.Local):
        for group in source.groups:
            yield tuple(readers.Text(path, local.checked(Path(path))) for path in group)
    elif isinstance(source, sources.Files):
        for group in source.groups:
            yield tuple(
                readers.Text(file.address, store.fetch(file.address, file.sha256), file.member) for file in group
            )
    elif isinstance(source, sources.Hub):
        yield from ((text,) for text in hub.texts(source, store))
    else:
        yield ()


def group_pairs(
    source: sources.Source, texts: tuple[readers.Text, ...], languages: tuple[str, str]
) -> Iterator[readers.Pair]:
    """The pairs of what is read together."""
    if isinstance(source, sources.Phrasebook):
        return phrasebook.pairs(source.part, source.num_pairs, languages)
    if isinstance(source, sources.Hub):
        return hub.pairs(texts[0].path, source, languages)
    if isinstance(source, sources.Sacrebleu) or source.table is None:
        return readers.parallel(*texts)
    return tables.columns(texts[0], *source.columns, quoting=source.quoting)


def write(pairs: Iterator[readers.Pair], source: Path, target: Path, what: str) -> int:
    """Write one line a pair into the two files; returns how many. Memory does not grow with the lines."""
    count = 0
    with files.new_file(source, "wb") as left, files.new_file(target, "wb") as right:
        for chunk in progress.track(chunks(pairs), what, total=None, unit="thousand pairs"):
            count += len(chunk)
            for pair in chunk:
                left.write(pair[0] + b"\n")
                right.write(pair[1] + b"\n")
    return count


def chunks(pairs: Iterator[readers.Pair]) -> Iterator[list[readers.Pair]]:
    """The pairs, a thousand at a time."""
    while chunk := list(islice(pairs, 1000)):
        yield chunk


def record(text: readers.Text) -> Record:
    """The record of a file in download.json."""
    commit = {"commit": text.commit} if text.commit else {}
    return {"address": text.address, **commit, "sha256": files.sha256(text.path), "bytes": text.path.stat().st_size}


def remarks(download: sources.Download, now: dict[str, Record], before: dict[str, Record]) -> Iterator[str]:
    """A line for each public file that is not what it was when it was read before, or that may become another."""
    old = {file["address"]: file["sha256"] for part in before.values() for file in part["files"]}
    for name, source in download.parts.items():
        if isinstance(source, sources.Hub):
            pins, key, pin = {source.revision}, "commit", "revision"
        elif isinstance(source, sources.Files):
            pins, key, pin = {file.sha256 for file in chain(*source.groups)}, "sha256", "sha256"
        else:
            continue
        for file in now[name]["files"]:
            address, sha256 = file["address"], file["sha256"]
            if old.get(address, sha256) != sha256:
                yield f"{address}: is not as it was read before, got sha256 {sha256}; was {old[address]}"
            if file.get(key) not in (None, *pins):
                where = hub.address(source) if isinstance(source, sources.Hub) else address
                yield f"{where}: may change; `{pin}: {file[key]}` in the corpus's file pins it"
