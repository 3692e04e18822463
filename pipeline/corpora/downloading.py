"""Writes the parts of a corpus, `<part>.{source,target}.txt`, from its sources, and records these."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from .. import progress
from ..common import files, parts
from . import archives, hub, local, phrasebook, readers, sacrebleu_sets, sources, tables
from .fetching import Store

Record = dict[str, Any]


def write_part(name: str, download: sources.Download, store: Store, out: Path) -> Record:
    """Write part `name` into the folder `out`; returns its number of pairs, and address, sha256 and bytes of its files.

    `train` may hold bytes that are not UTF-8: `clean` counts them. In any other part they are an error.
    Raises: DataError if a source fails or holds no pair.
    """
    source, paths = download.parts[name], parts.paths(out, name)
    texts = stored(source, download, store)
    count = write(read(name, download, texts, store), *paths, f"write {name}")
    if count == 0:
        where = " and ".join(text.name for text in texts) or source.kind
        raise files.DataError(f"{where}: part {name} is empty, got 0 pairs; expected some")
    records = {text.address: record(text.address, text.path) for text in texts}
    if isinstance(source, sources.Hub):  # the text, as the hub may pack the same rows in other files
        records = {"": record(hub.split_name(source), *paths)}
    return {"pairs": count, "files": list(records.values())}


def stored(source: sources.Source, download: sources.Download, store: Store) -> list[readers.Text]:
    """The table, or the source and the target text, on disk; none of a data set or the phrasebook.

    Raises: DataError if one is missing.
    """
    if isinstance(source, sources.Sacrebleu):
        pair, swapped = sacrebleu_sets.find(source.name, download.source_language, download.target_language)
        sides = zip(("source", "reference"), sacrebleu_sets.texts(source.name, pair), strict=True)
        texts = [readers.Text(f"sacrebleu {source.name} {pair} {side}", path) for side, path in sides]
        return texts[::-1] if swapped else texts
    if isinstance(source, sources.Local):
        paths = (path for path in (source.table, source.source, source.target) if path is not None)
        return [readers.Text(path, local.checked(Path(path))) for path in paths]
    if isinstance(source, sources.Files):
        wanted = (file for file in (source.table, source.source, source.target) if file is not None)
        return [readers.Text(file.address, store.fetch(file.address, file.sha256), file.member) for file in wanted]
    return []


def read(part: str, download: sources.Download, texts: list[readers.Text], store: Store) -> Iterator[readers.Pair]:
    """The pairs of a part, whose texts `stored` gave.

    Fetched files that turn out to be damaged or not parallel are deleted, to be fetched again next time.
    Raises: DataError.
    """
    source, languages = download.parts[part], (download.source_language, download.target_language)
    if isinstance(source, sources.Phrasebook):
        pairs = phrasebook.pairs(source.part, source.num_pairs, languages)
    elif isinstance(source, sources.Hub):
        pairs = hub.pairs(source, languages, store)
    elif isinstance(source, sources.Sacrebleu) or source.table is None:
        pairs = readers.parallel(*texts)
    else:
        pairs = tables.columns(texts[0], *source.columns, quoting=source.quoting)
    names = [text.name for text in texts] or [source.kind]
    try:
        yield from pairs if part == parts.TRAIN else readers.decoded(pairs, names[0], names[-1])
    except (archives.Damaged, readers.NotParallel):
        for text in texts:
            if text.path.parent == store.folder:
                text.path.unlink(missing_ok=True)
        raise


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


def record(address: str, *paths: Path) -> Record:
    """The record in download.json of the bytes at `paths`."""
    return {"address": address, "sha256": files.sha256(*paths), "bytes": sum(path.stat().st_size for path in paths)}
