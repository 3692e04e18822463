"""Sentence pairs of a Hugging Face data set: its files, from a mirror's folder or the hub, read as tables."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import StringConstraints, model_validator

from ...common import files, params
from .. import tables
from ..fetching import Downloads, is_address
from ..readers import RawPair, TextFile, flat
from .interface import BaseSource, Bitext, Languages, NonEmpty, Stated, check_either

HOST = "huggingface.co"
ROWS = 1000  # of a parquet file decoded at a time
FORMATS = (".parquet", ".json", ".jsonl", ".csv", ".tsv")
# Parts of a mirror's path: none may be `..`.
DatasetId = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]{0,95}(/\w[\w.-]{0,95})?$")]
Revision = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]


class Source(BaseSource):
    """A data set of the Hugging Face hub: two text columns, or one field that holds {language: text}."""

    kind: Literal["hub"]
    is_public = True
    dataset: DatasetId
    revision: Revision
    split: NonEmpty
    config: NonEmpty | None = None
    source_column: NonEmpty | None = None
    target_column: NonEmpty | None = None
    translation_field: NonEmpty | None = None
    quoting: tables.Quoting | None = None  # of tables with tabs or commas; without it their quotes decide

    @model_validator(mode="after")
    def check_choice(self) -> Self:
        """Either two columns or a field."""
        check_either(self, ("source_column", "target_column"), ("translation_field",))
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The two columns, or the field."""
        return tuple(name for name in (self.source_column, self.target_column, self.translation_field) if name)

    @property
    def address(self) -> str:
        """The data set, as messages and download.json call it."""
        return f"{HOST}/datasets/{self.dataset}@{self.revision}"

    @property
    def label(self) -> str:
        """The split, as messages call it."""
        return " ".join(filter(None, (self.address, self.config, self.split)))

    def stated(self, languages: Languages, downloads: Downloads) -> Stated | None:
        """The number of rows of the split: of the card, of parquet's footers, or of the lines of a mirror's files."""
        with named(self.label):
            folder, _, places, num_rows = find_split(self, downloads)
            if not num_rows and all(suffix(place) == ".parquet" for place in places):
                import fsspec  # type: ignore[import-untyped]  # it brings no types, as pyarrow
                import pyarrow.parquet  # type: ignore[import-untyped]

                for place in places:
                    with fsspec.open(place) as file:  # here or on the hub
                        num_rows += pyarrow.parquet.read_metadata(file).num_rows
            elif not num_rows and folder is not None:
                num_rows = sum(1 for place in places for _ in TextFile(place, Path(place)).lines())
            return Stated(num_rows, None) if num_rows else None

    def unpinned(self, record: dict[str, Any]) -> tuple[str, str] | None:
        """The data set, if its revision is a branch; a mirror's folder says of no commit."""
        is_pinned = record.get("commit") in (None, self.revision)
        return None if is_pinned else (self.address, f"revision: {record['commit']}")


@contextmanager
def named(name: str, expected: str = "a data set with this revision and config") -> Iterator[None]:
    """A block that reads what is called `name` where the block fails.

    Raises: DataError.
    """
    try:
        yield
    except files.DataError:
        raise
    except Exception as error:  # of three libraries and what they read with: no class is common to them
        got = " ".join(str(error).split()) or type(error).__name__
        expected += ", and a connection or a mirror (CORPUS_MIRROR, HF_ENDPOINT)"
        raise files.DataError(f"{name}: cannot be read, got {got}; expected {expected}") from None


def bitexts(source: Source, languages: Languages, downloads: Downloads) -> Iterator[Bitext]:
    """The pairs of one file of a split after the other."""
    for text in texts(source, downloads):
        yield (text,), pairs(text.path, source, languages)


def find_split(source: Source, downloads: Downloads) -> tuple[Path | None, str, list[str], int]:
    """Of a split the mirror's folder, if it is there; the root of its places; these; and the rows of its card, or 0.

    Raises: DataError if there is no such split, or it does not consist of tables of its own.
    """
    import datasets  # three seconds to import, and only here in need

    folder = mirrored(f"datasets/{source.dataset}", source.revision, downloads)
    # `hf://` keeps the library from taking the id for a path in the working directory.
    root = f"hf://datasets/{source.dataset}" if folder is None else str(folder)
    revision = source.revision if folder is None else None
    builder = datasets.load_dataset_builder(root, name=source.config, revision=revision)
    splits = builder.config.data_files
    if source.split not in splits:
        raise files.DataError(f"{source.label}: no such split{params.nearest(source.split, map(str, splits))}")
    places = [*map(str, splits[source.split])]
    for place in places:
        inside = place.startswith((f"{root}@", f"{root}/")) and ".." not in place.split("/")
        if not inside or suffix(place) not in FORMATS:
            expected = f"files of its own, of {', '.join(FORMATS)}"
            raise files.DataError(f"{source.label}: has data in {place}; expected {expected}")
    on_card = (builder.info.splits or {}).get(source.split)
    return folder, root, places, (on_card.num_examples or 0) if on_card else 0


def texts(source: Source, downloads: Downloads) -> Iterator[TextFile]:
    """The files of a split on disk: those of the mirror's folder, else fetched from the hub once, when they are needed.

    Raises: DataError as `find_split` does, or if there is no such data set.
    """
    with named(source.label):
        folder, root, places, _ = find_split(source, downloads)
        for place in places:
            if folder is not None:
                yield TextFile(f"{source.address}/{Path(place).relative_to(folder).as_posix()}", Path(place))
            else:
                import huggingface_hub  # which `datasets` has imported

                commit, _, inner = place.removeprefix(f"{root}@").partition("/")
                where: dict[str, Any] = {"repo_type": "dataset", "cache_dir": downloads.folder / HOST}
                path = huggingface_hub.hf_hub_download(source.dataset, inner, revision=commit, **where)
                yield TextFile(f"{source.address}/{inner}", Path(path), commit=commit)


def mirrored(name: str, revision: str, downloads: Downloads) -> Path | None:
    """The folder of a model or data set, `<name>` or `<name>@<revision>`, if the mirror is a folder that has it.

    A mirror of the hub itself is named by `HF_ENDPOINT`.
    """
    if downloads.mirror is None or is_address(downloads.mirror):
        return None
    folder = Path(downloads.mirror, HOST, name if revision == "main" else f"{name}@{revision}").resolve()
    return folder if folder.is_dir() else None


def pairs(path: Path, source: Source, languages: Languages) -> Iterator[RawPair]:
    """The pairs of one file of a data set, in constant memory. A missing sentence becomes an empty one.

    Raises: DataError for a column or language that it lacks, or what is no text.
    """
    with named(source.label):
        if suffix(path.name) in (".csv", ".tsv"):
            yield from tables.columns(TextFile(path.name, path), *source.columns, quoting=source.quoting)
            return
        for row in rows(path, source.columns):
            tables.check_columns(path.name, source.columns, row)
            cells = [row[name] for name in source.columns]
            if source.translation_field:
                sides = cells[0] or dict.fromkeys(languages)
                tables.check_columns(f"{path.name} {source.translation_field}", languages, sides)
                cells = [sides[language] for language in languages]
            yield sentence(cells[0]), sentence(cells[1])


def suffix(name: str) -> str:
    """The ending that says a file's format, without .gz."""
    return PurePosixPath(name.removesuffix(".gz")).suffix


def rows(path: Path, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a file in parquet, or in JSON a row a line; of parquet some columns."""
    if suffix(path.name) != ".parquet":
        yield from map(json.loads, TextFile(path.name, path).lines())
        return
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as table:
        for batch in table.iter_batches(ROWS, columns=list(names)):
            yield from batch.to_pylist()


def sentence(value: Any) -> bytes:
    """A sentence of a data set as one line; a missing one is empty.

    Raises: ValueError for what is no text.
    """
    if not isinstance(value, str | None):
        raise ValueError(f"{type(value).__name__} {value!r}, which is no text")
    return flat(value or "")
