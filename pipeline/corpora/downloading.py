"""Writes the parts of a corpus, `<part>.{source,target}.txt`, from its sources, and records these."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline import files, progress
from pipeline.corpora import archives, hub, parts, phrasebook, readers, sacrebleu_sets, sources
from pipeline.corpora.fetching import Store

CHUNK_PAIRS = 1000  # written between two updates of the progress bar

Record = dict[str, Any]
TextSource = sources.Files | sources.Local | sources.Sacrebleu
Opened = tuple[Iterator[readers.Pair], tuple[str, str], list[Record]]  # pairs, names of the sides, records of the files


def write_part(name: str, download: sources.Download, store: Store, out: Path) -> Record:
    """Write part `name` into the folder `out`; returns its number of pairs, and address, sha256 and bytes of its files.

    `train` may hold bytes that are not UTF-8: `clean` counts them. In any other part they are an error.
    Raises: DataError if a source fails or holds no pair.
    """
    source = download.parts[name]
    paths = parts.paths(out, name)
    with opened(source, download, store) as (pairs, sides, records):
        checked = pairs if name == parts.TRAIN else readers.decoded(pairs, *sides)
        count = write(checked, *paths, f"write {name}")
        if count == 0:
            where = " and ".join(dict.fromkeys(sides))
            raise files.DataError(f"{where}: part {name} is empty, got 0 pairs; expected some")
    if isinstance(source, sources.Hub):
        records = [record(sides[0], *paths)]
    return {"pairs": count, "files": records}


def write(pairs: Iterator[readers.Pair], source: Path, target: Path, what: str) -> int:
    """Write one line a pair into the two files; returns how many. Memory does not grow with the lines."""
    count = 0
    with files.new_file(source, "wb") as left, files.new_file(target, "wb") as right:

        def chunks() -> Iterator[None]:
            nonlocal count
            for count, pair in enumerate(pairs, 1):
                left.write(pair[0] + b"\n")
                right.write(pair[1] + b"\n")
                if count % CHUNK_PAIRS == 0:
                    yield

        for _ in progress.track(chunks(), what, total=None, unit="thousand pairs"):
            pass
    return count


def record(address: str, *paths: Path) -> Record:
    """The record in download.json of the bytes at `paths`."""
    return {
        "address": address,
        "sha256": files.sha256(*paths),
        "bytes": sum(path.stat().st_size for path in paths),
    }


@contextmanager
def opened(source: sources.Source, download: sources.Download, store: Store) -> Iterator[Opened]:
    """The pairs of a source as bytes, the names of its two sides in messages, and the records of its files."""
    languages = (download.source_language, download.target_language)
    if isinstance(source, sources.Phrasebook):
        name = f"phrasebook {source.part}"
        yield phrasebook.pairs(source.part, source.num_pairs, languages), (name, name), []
    elif isinstance(source, sources.Hub):
        yield hub_pairs(source, languages, store)
    else:
        with text_pairs(source, languages, store) as found:
            yield found


def hub_pairs(source: sources.Hub, languages: tuple[str, str], store: Store) -> Opened:
    """The pairs of a data set. The written text is recorded, as the hub may pack the same rows in other files."""
    if source.translation_field is not None:
        fields: tuple[str, ...] = (source.translation_field, *languages)
    else:
        assert source.source_column is not None, source
        assert source.target_column is not None, source
        fields = (source.source_column, source.target_column)
    config = "" if source.config is None else f" {source.config}"
    name = f"{hub.HOST}/datasets/{source.dataset}@{source.revision}{config} {source.split}"
    pairs = hub.pairs(source.dataset, source.revision, source.config, source.split, fields, store)
    return pairs, (name, name), []


@contextmanager
def text_pairs(source: TextSource, languages: tuple[str, str], store: Store) -> Iterator[Opened]:
    """The pairs of two parallel texts or of a table."""
    stored = list(stored_files(source, languages, store))
    with ExitStack() as stack, doubting(source, stored, store):
        records = {file.address: record(file.address, file.path) for file in stored}
        texts = [stack.enter_context(file.opened()) for file in stored]
        if isinstance(source, sources.Sacrebleu) or source.table is None:
            pairs = readers.parallel(*texts)
        else:
            assert source.source_column is not None, source
            assert source.target_column is not None, source
            pairs = readers.columns(texts[0], source.source_column, source.target_column)
        yield pairs, (texts[0].name, texts[-1].name), list(records.values())


@contextmanager
def doubting(source: TextSource, stored: list["Stored"], store: Store) -> Iterator[None]:
    """If fetched files turn out to be no corpus, fetch them again next time; a user's own files are never touched.

    A file with the sha256 of the corpus's file is right, whatever it holds.
    """
    try:
        yield
    except files.DataError as error:
        if isinstance(source, sources.Sacrebleu):
            for folder in {file.path.parent for file in stored if file.path.parent.parent == store.folder}:
                shutil.rmtree(folder)  # made anew from its archives, which have checksums
        else:
            given = (source.table, source.source, source.target)
            for item in (one for one in given if isinstance(one, sources.Address) and one.sha256 is None):
                path = store.path(item.address)
                if isinstance(error, archives.Unreadable) and error.path == path:
                    path.unlink(missing_ok=True)
                else:
                    store.doubt(item.address, purpose(source))
        raise


def purpose(source: TextSource) -> str:
    """What the files of a source are read for: after an edit of corpora/<corpus>.yaml the same files may do."""
    return source.model_dump_json()


@dataclass(frozen=True)
class Stored:
    """A file on disk, where it came from, and which member of it is meant."""

    address: str
    path: Path
    member: str | None = None

    @contextmanager
    def opened(self) -> Iterator[readers.Text]:
        """Its lines, unpacked as they are read."""
        name = self.address if self.member is None else f"{self.address} member {self.member}"
        tagged = readers.is_tagged(self.member or self.address)
        with archives.opened(self.path, self.address, self.member) as file:
            yield readers.Text(name, readers.read_lines(file, name, tagged=tagged))


def stored_files(source: TextSource, languages: tuple[str, str], store: Store) -> Iterator[Stored]:
    """The table, or the source and the target file, on disk.

    Raises: DataError if one is missing.
    """
    if isinstance(source, sources.Sacrebleu):
        pair, swapped = sacrebleu_sets.find(source.name, *languages)
        sides = zip(("source", "reference"), sacrebleu_sets.texts(source.name, pair, store), strict=True)
        found = [Stored(f"sacrebleu {source.name} {pair} {side}", path) for side, path in sides]
        yield from reversed(found) if swapped else found
        return
    for item in (source.table, source.source, source.target):
        if isinstance(item, sources.Address):
            yield Stored(item.address, store.fetch(item.address, item.sha256, purpose(source)), item.member)
        elif item is not None:
            if not Path(item).is_file():
                raise files.DataError(f"{item}: no such file; expected the one that the corpus's file names")
            yield Stored(item, Path(item))
