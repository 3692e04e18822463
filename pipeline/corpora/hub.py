"""Sentence pairs of a Hugging Face data set: its files, from a mirror's folder or the hub, read as tables."""

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from ..common import files, params
from . import fetching, readers, tables
from .sources import Hub

HOST = "huggingface.co"
ROWS = 1000  # of a parquet file decoded at a time
FORMATS = (".parquet", ".json", ".jsonl", ".csv", ".tsv")


def split_name(source: Hub) -> str:
    """What messages call a split."""
    config = "" if source.config is None else f" {source.config}"
    return f"{address(source)}{config} {source.split}"


def address(source: Hub) -> str:
    """A data set, as messages and download.json call it."""
    return f"{HOST}/datasets/{source.dataset}@{source.revision}"


@contextmanager
def named(source: Hub) -> Iterator[None]:
    """A block that reads a split, and names it where it fails.

    Raises: DataError.
    """
    try:
        yield
    except files.DataError:
        raise
    except Exception as error:  # of three libraries and what they read with: no class is common to them
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        got = " ".join(str(error).split()) or type(error).__name__
        raise files.DataError(
            f"{split_name(source)}: cannot be read, got {got}; expected a data set with this revision "
            "and config, and a connection or a mirror (CORPUS_MIRROR, HF_ENDPOINT)"
        ) from None


def texts(source: Hub, store: fetching.Store) -> Iterator[readers.Text]:
    """The files of a split on disk: those of the mirror's folder, else fetched from the hub once, when they are needed.

    Raises: DataError if there is no such data set or split, or it does not consist of tables of its own.
    """
    import datasets  # three seconds to import, and only here in need
    import huggingface_hub

    with named(source):
        folder = mirrored(source, store)
        # `hf://` keeps the library from taking the id for a path in the working directory.
        root = f"hf://datasets/{source.dataset}" if folder is None else str(folder)
        revision = source.revision if folder is None else None
        builder = datasets.load_dataset_builder(root, name=source.config, revision=revision)
        splits = builder.config.data_files
        if source.split not in splits:
            raise files.DataError(
                f"{split_name(source)}: no such split{params.nearest(source.split, map(str, splits))}"
            )
        for place in map(str, splits[source.split]):
            inside = place.startswith((f"{root}@", f"{root}/")) and ".." not in place.split("/")
            if not inside or suffix(place) not in FORMATS:
                expected = f"files of its own, of {', '.join(FORMATS)}"
                raise files.DataError(f"{split_name(source)}: has data in {place}; expected {expected}")
            if folder is not None:
                name = Path(place).relative_to(folder).as_posix()
                yield readers.Text(f"{address(source)}/{name}", Path(place))
            else:
                commit, _, name = place.removeprefix(f"{root}@").partition("/")
                where: dict[str, Any] = {"repo_type": "dataset", "revision": commit, "cache_dir": store.folder / HOST}
                path = Path(huggingface_hub.hf_hub_download(source.dataset, name, **where))
                yield readers.Text(f"{address(source)}/{name}", path, commit=commit)


def mirrored(source: Hub, store: fetching.Store) -> Path | None:
    """The folder with a data set's files, `<dataset>` or `<dataset>@<revision>`, if the mirror is a folder that has it.

    A mirror of the hub itself is named by `HF_ENDPOINT`.
    """
    if store.mirror is None or fetching.is_address(store.mirror):
        return None
    revision = "" if source.revision == "main" else f"@{source.revision}"
    folder = Path(store.mirror, HOST, "datasets", f"{source.dataset}{revision}").resolve()
    return folder if folder.is_dir() else None


def pairs(path: Path, source: Hub, languages: tuple[str, str]) -> Iterator[readers.Pair]:
    """The pairs of one file of a data set, in constant memory. A missing sentence becomes an empty one.

    Raises: DataError for a column or language that it lacks, or what is no text.
    """
    kind = suffix(path.name)
    with named(source):
        if kind in (".csv", ".tsv"):
            yield from tables.columns(readers.Text(path.name, path), *source.columns, quoting=source.quoting)
            return
        for cells in (parquet_cells if kind == ".parquet" else json_cells)(path, source.columns):
            left, right = (in_language(cells[0], code) for code in languages) if len(cells) == 1 else cells
            yield sentence(left), sentence(right)


def suffix(name: str) -> str:
    """The ending that says a file's format, without .gz."""
    return PurePosixPath(name.removesuffix(".gz")).suffix


def parquet_cells(path: Path, names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Some columns of each row of a parquet file."""
    import pyarrow.parquet  # type: ignore[import-untyped]  # it brings no types

    with pyarrow.parquet.ParquetFile(path) as table:
        tables.check_columns(path.name, names, table.schema_arrow.names)
        for batch in table.iter_batches(ROWS, columns=list(names)):
            yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def json_cells(path: Path, names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Some columns of each row of a JSON file, a row a line."""
    for line in readers.Text(path.name, path).lines():
        row = json.loads(line)
        tables.check_columns(path.name, names, row)
        yield tuple(row[name] for name in names)


def in_language(cell: Any, language: str) -> Any:
    """The sentence of a translation field in one language; None where the field is missing.

    Raises: ValueError if the field has no such language.
    """
    if cell and (not isinstance(cell, dict) or language not in cell):
        raise ValueError(f"{cell!r}, which has no language {language!r}")
    return (cell or {}).get(language)


def sentence(value: Any) -> bytes:
    """A sentence of a data set as one line; a missing one is empty.

    Raises: ValueError for what is no text.
    """
    if not isinstance(value, str | None):
        raise ValueError(f"{type(value).__name__} {value!r}, which is no text")
    return readers.flat(value or "")
