"""Sentence pairs of a Hugging Face data set, in constant memory, from a mirror's folder or from the hub."""

import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from pipeline import files, params
from pipeline.data import fetching, readers, transfer

HOST = "huggingface.co"
ROWS = 1000  # decoded at a time


def pairs(
    dataset: str, revision: str, config: str | None, split: str, fields: tuple[str, ...], store: fetching.Store
) -> Iterator[readers.Pair]:
    """The pairs of one split. `fields`: (source column, target column), or (field, source language, target language).

    Raises: DataError naming what the data set has not: itself, its split, a field.
    """
    where = f"{HOST}/datasets/{dataset} split {split}"
    rows = open_split(dataset, revision, config, split, store)
    names = rows.column_names or list(next(iter(rows), {}))  # a streamed .csv says its columns with its first row
    columns = list(fields[:1] if len(fields) == 3 else fields)
    for name in columns:
        if name not in names:
            raise files.DataError(f"{where}: has no column {name!r}{params.nearest(name, names)}")
    batches = rows.select_columns(columns).iter(batch_size=ROWS)
    return (pair for batch in batches for pair in sentences(batch, fields, where))


def sentences(batch: dict[str, list[Any]], fields: tuple[str, ...], where: str) -> Iterator[readers.Pair]:
    """The pairs of some rows; an absent sentence is an empty one, as the rows must stay parallel.

    Raises: DataError for a language that the field has not, or a value that is no text.
    """
    if len(fields) == 2:
        sides = [batch[name] for name in fields]
    else:
        field, *languages = fields
        for language in languages:
            if not isinstance(batch[field][0], dict) or language not in batch[field][0]:
                raise files.DataError(f"{where}: field {field!r} has no language {language!r}, got {batch[field][0]!r}")
        sides = [[row[language] for row in batch[field]] for language in languages]
    for pair in zip(*sides, strict=True):
        for value in pair:
            if not isinstance(value, str | None):
                raise files.DataError(f"{where}: holds {type(value).__name__} {value!r}; expected text")
        yield readers.flat(pair[0] or ""), readers.flat(pair[1] or "")


def open_split(dataset: str, revision: str, config: str | None, split: str, store: fetching.Store) -> Any:
    """The rows of a split: streamed from the mirror's folder, else brought to disk once and mapped into memory.

    Raises: DataError where the hub, the data set or the split cannot be had.
    """
    cache = store.folder.absolute() / HOST
    os.environ.setdefault("HF_HOME", str(cache))  # read when `datasets` is imported, so not in the user's home
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import datasets  # a second to import, and only here in need

    folder = mirrored(dataset, store)
    try:
        if folder is not None:
            return datasets.load_dataset(str(folder), name=config, split=split, streaming=True)
        return datasets.load_dataset(
            dataset, name=config, split=split, revision=revision, cache_dir=str(cache / "datasets")
        )
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # ours, such as a full disk; the hub's have no number
        where = (
            f"{HOST}/datasets/{dataset}" if folder is None else f"{HOST}/datasets/{dataset} (from the mirror, {folder})"
        )
        wanted = f"revision {revision!r}, config {config!r}, split {split!r}"
        raise files.DataError(
            f"{where}: cannot be read, got {' '.join(str(error).split())[:300]}; expected a data set with {wanted}"
        ) from None


def mirrored(dataset: str, store: fetching.Store) -> Path | None:
    """The folder with a data set's files where the mirror has them; those of an http mirror are fetched."""
    if store.mirror is None:
        return None
    if not fetching.is_address(store.mirror):
        folder = Path(store.mirror, HOST, "datasets", dataset)
        return folder if folder.is_dir() else None
    folder = store.folder / HOST / "mirror" / dataset
    if not folder.exists():
        address = f"{store.mirror.rstrip('/')}/{HOST}/datasets/{dataset}/"
        with files.new_folder(folder) as out:
            if not bring(address, out, store):
                return None
    return folder


def bring(address: str, out: Path, store: fetching.Store) -> bool:
    """Fetch what the listing of a folder on an http server names into `out`; whether there was such a folder."""
    listing = out / ".listing"
    try:
        store.download(address, listing)
    except transfer.NotThere:
        return False
    links = Links()
    links.feed(listing.read_text(encoding="utf-8", errors="replace"))
    transfer.discard(listing)
    for link in links.found:
        if link.strip("/") and set(link.strip("/")).isdisjoint("/?#:%\\") and not link.startswith("."):
            if link.endswith("/"):
                (out / link).mkdir()
                bring(urljoin(address, link), out / link, store)
            else:
                store.download(urljoin(address, link), out / link)
                transfer.state_path(out / link).unlink()
    return True


class Links(HTMLParser):
    """Collects the targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the `href` of an <a>."""
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
