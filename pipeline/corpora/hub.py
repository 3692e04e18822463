"""Sentence pairs of a Hugging Face data set, in constant memory: from a mirror's folder, else from the hub."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline import files, params, terminal
from pipeline.corpora import fetching, hub_guard, readers

HOST = "huggingface.co"
MAIN = "main"  # the revision that a mirror's folder stands for unless its name says another
TOKEN = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface", "token")  # where a login keeps it
ROWS = 1000  # decoded at a time
TEXT = {"keep_default_na": False, "na_filter": False}  # how a table is read in which NULL and N/A are sentences
SHOWN_CHARACTERS = 300  # of what a library says


def pairs(
    dataset: str, revision: str, config: str | None, split: str, fields: tuple[str, ...], store: fetching.Store
) -> Iterator[readers.Pair]:
    """The pairs of one split. `fields`: (source column, target column), or (field, source language, target language).

    Raises: DataError if there is no such data set, or naming the split or field that it lacks.
    """
    where = f"{HOST}/datasets/{dataset} split {split}"
    folder = mirrored(dataset, revision, store)
    origin = "" if folder is None else f" (from the mirror, {folder})"
    source = f"{HOST}/datasets/{dataset}{origin}"
    wanted = f"revision {revision!r}, config {config!r}, split {split!r}"
    with explained(source, wanted, store):
        rows = open_split(source, dataset, folder, revision, config, split, store)
        names = rows.column_names or list(next(iter(rows), {}))  # a streamed .csv says its columns with its first row
    columns = list(fields[:1] if len(fields) == 3 else fields)
    for name in columns:
        if name not in names:
            raise files.DataError(f"{where}: has no column {name!r}{params.nearest(name, names)}")

    def batches() -> Iterator[dict[str, list[Any]]]:
        with explained(source, wanted, store):
            yield from rows.select_columns(columns).iter(batch_size=ROWS)

    return (pair for batch in batches() for pair in sentences(batch, fields, where))


def sentences(batch: dict[str, list[Any]], fields: tuple[str, ...], where: str) -> Iterator[readers.Pair]:
    """The pairs of rows; a missing sentence becomes an empty one, so that the sides stay parallel.

    Raises: DataError for a language that the field has not, or a value that is no text.
    """
    if len(fields) == 2:
        sides = [batch[name] for name in fields]
    else:
        field, *languages = fields
        rows = [{} if row is None else row for row in batch[field]]
        for language in languages:
            if lacking := [row for row in rows if not isinstance(row, dict) or (row and language not in row)]:
                shown = terminal.one_line(repr(lacking[0]), SHOWN_CHARACTERS)
                raise files.DataError(f"{where}: field {field!r} has no language {language!r}, got {shown}")
        sides = [[row.get(language) for row in rows] for language in languages]
    for pair in zip(*sides, strict=True):
        for value in pair:
            if not isinstance(value, str | None):
                shown = terminal.one_line(repr(value), SHOWN_CHARACTERS)
                raise files.DataError(f"{where}: holds {type(value).__name__} {shown}; expected text")
            if len((value or "").encode("utf-8", "surrogatepass")) >= files.LINE_BYTES:  # with the end of the line
                raise files.DataError(f"{where}: holds a text of over {files.LINE_BYTES:,} bytes; expected sentences")
        yield readers.flat(pair[0] or ""), readers.flat(pair[1] or "")


def open_split(
    source: str, dataset: str, folder: Path | None, revision: str, config: str | None, split: str, store: fetching.Store
) -> Any:
    """The rows of a split: streamed from the mirror's folder, else downloaded once and memory-mapped.

    `hf://` keeps the library from taking the id for a path in the working directory. Since its version 4 it runs no
    code of a data set.
    Raises: DataError if the data set does not consist of tables of its own.
    """
    import datasets  # a second to import, and only here in need

    root = f"hf://datasets/{dataset}@" if folder is None else f"{folder.resolve()}/"
    with hub_guard.guarding(source, root):
        if folder is not None:
            given: dict[str, Any] = {"path": str(folder), "name": config}
        else:
            cache = str(cached(store) / "datasets")
            address = f"hf://datasets/{dataset}"
            given = {"path": address, "name": config, "revision": revision, "cache_dir": cache}
        builder = datasets.load_dataset_builder(**given)
        if hub_guard.checked_format(source, builder) == "csv":
            builder = datasets.load_dataset_builder(**given, **TEXT)
        if folder is not None:
            return builder.as_streaming_dataset(split=split)
        fetch(builder, dataset, store)
        return builder.as_dataset(split=split)


def fetch(builder: Any, dataset: str, store: fetching.Store) -> None:
    """Fetch the files that the store lacks and make one table of all; if some are damaged, delete what was fetched."""
    import datasets
    import huggingface_hub
    import pyarrow  # type: ignore[import-untyped]  # it brings no types

    try:
        builder.download_and_prepare()
    except datasets.exceptions.DatasetGenerationCastError:  # files with unlike columns, none of them damaged
        raise
    except (datasets.exceptions.DatasetGenerationError, pyarrow.ArrowInvalid) as error:  # rows, or what describes them
        fetched = Path(huggingface_hub.constants.HF_HUB_CACHE, f"datasets--{dataset.replace('/', '--')}")
        if full_disk(error) is None and cached(store) in fetched.parents:  # not the user's
            shutil.rmtree(fetched, ignore_errors=True)
        raise


@contextmanager
def explained(source: str, wanted: str, store: fetching.Store) -> Iterator[None]:
    """Give the errors of a data set one form; sets what the hub's libraries read when they are imported.

    Raises: DataError; OSError if the disk is full.
    """
    # What is fetched does not go to the user's home; the token of a login is there.
    if "HF_HOME" not in os.environ:
        os.environ |= {
            "HF_TOKEN_PATH": os.environ.get("HF_TOKEN_PATH", os.path.expanduser(TOKEN)),
            "HF_HOME": str(cached(store)),
        }
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        yield
    except files.DataError:
        raise
    except Exception as error:  # of three libraries and what they read with: no class is common to them
        if full := full_disk(error):
            raise full from None
        raise explanation(source, wanted, error) from None


def explanation(source: str, wanted: str, error: Exception) -> files.DataError:
    """Our error for one of the hub's libraries."""
    import datasets

    said = terminal.one_line(str(error), SHOWN_CHARACTERS) or type(error).__name__
    no_connection = ConnectionError, *datasets.utils.file_utils.CONNECTION_ERRORS_TO_RETRY
    if any(isinstance(cause, no_connection) for cause in causes(error)):
        expected = "a connection, or a mirror (CORPUS_MIRROR)"
        return files.DataError(f"{source}: the hub could not be asked, got {said}; expected {expected}")
    return files.DataError(f"{source}: cannot be read, got {said}; expected a data set with {wanted}")


def full_disk(error: BaseException) -> OSError | None:
    """The error of a full disk, if an error is one or was caused by one."""
    full = errno.ENOSPC, errno.EDQUOT
    return next((cause for cause in causes(error) if isinstance(cause, OSError) and cause.errno in full), None)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what caused it, what caused that, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def cached(store: fetching.Store) -> Path:
    """The folder in which the hub's libraries keep downloads."""
    return store.folder.absolute() / HOST


def mirrored(dataset: str, revision: str, store: fetching.Store) -> Path | None:
    """The folder with a data set's files, if the mirror is a folder that has them; else the hub is asked.

    It is `<dataset>` for the revision `main`, else `<dataset>@<revision>`. A mirror of the hub itself is named by
    `HF_ENDPOINT`.
    Raises: DataError if the mirror has the data set, but not in this revision.
    """
    if store.mirror is None or fetching.is_address(store.mirror):
        return None
    plain = Path(store.mirror, HOST, "datasets", dataset)
    folder = plain if revision == MAIN else Path(f"{plain}@{revision}")
    if not folder.is_dir() and plain.is_dir():
        raise files.DataError(
            f"{folder}: no such folder, got only {plain}, whose revision is {MAIN!r}; expected revision {revision!r}"
        )
    return folder if folder.is_dir() else None
