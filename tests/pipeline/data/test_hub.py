"""Data sets of the hub, from folders made here."""

import http.server
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.data import hub
from pipeline.data.fetching import Store
from pipeline.files import DataError

ROWS = [
    {"fr": "un", "en": "one", "number": 1, "translation": {"fr": "un", "en": "one"}},
    {"fr": "deux\r\ndeux", "en": None, "number": 2, "translation": {"fr": "deux\r\ndeux", "en": None}},
]
PAIRS = [(b"un", b"one"), (b"deux deux", b"")]


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror that has the data set toy/pairs."""
    folder = tmp_path / "mirror" / hub.HOST / "datasets/toy/pairs"
    (folder / "data").mkdir(parents=True)
    for split in ("train", "test"):
        (folder / f"data/{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path / "mirror"


@pytest.fixture
def served(mirror: Path) -> Iterator[str]:
    """The mirror as an address, listings and all."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(mirror)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def pairs(store: Store, fields: tuple[str, ...] = ("fr", "en"), **changed: Any) -> list[tuple[bytes, bytes]]:
    wanted = {"dataset": "toy/pairs", "revision": "main", "config": None, "split": "train", **changed}
    return list(hub.pairs(**wanted, fields=fields, store=store))


@pytest.mark.parametrize("fields", [("fr", "en"), ("translation", "fr", "en")])
def test_a_mirror_folder_is_read(mirror: Path, tmp_path: Path, fields: tuple[str, ...]) -> None:
    store = Store(tmp_path / "downloads", str(mirror))
    assert pairs(store, fields) == PAIRS
    assert pairs(store, fields, split="test") == PAIRS


def test_tables_without_a_schema_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / hub.HOST / "datasets/toy/pairs"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("number,fr,en\n1,un,one\n2,deux,two\n")
    assert pairs(Store(tmp_path / "downloads", str(tmp_path / "mirror"))) == [(b"un", b"one"), (b"deux", b"two")]


def test_a_mirror_address_is_read_and_asked_once(served: str, mirror: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "downloads", served)
    assert pairs(store) == PAIRS
    (mirror / hub.HOST).rename(mirror / "gone")
    assert pairs(store, split="test") == PAIRS
    assert hub.mirrored("toy/none", store) is None


def test_what_the_hub_brings_is_kept_in_the_store(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the name of a data set stands for the hub: `load_dataset` takes both by the same way."""
    monkeypatch.chdir(mirror / hub.HOST / "datasets")
    store = Store(tmp_path / "downloads")
    assert pairs(store) == PAIRS
    assert list((tmp_path / "downloads" / hub.HOST / "datasets").rglob("*.arrow"))


def test_without_a_mirror_there_is_no_folder(mirror: Path, tmp_path: Path) -> None:
    assert hub.mirrored("toy/pairs", Store(tmp_path)) is None
    assert hub.mirrored("toy/none", Store(tmp_path, str(mirror))) is None


def test_an_unknown_column_is_answered_with_the_nearest(mirror: Path, tmp_path: Path) -> None:
    store = Store(tmp_path, str(mirror))
    with pytest.raises(DataError) as error:
        pairs(store, ("fr", "eng"))
    assert str(error.value) == ("huggingface.co/datasets/toy/pairs split train: has no column 'eng'; nearest is 'en'")
    with pytest.raises(DataError, match=r"has no column 'translations'; nearest is 'translation'$"):
        pairs(store, ("translations", "fr", "en"))


def test_an_unknown_language_of_a_field(mirror: Path, tmp_path: Path) -> None:
    store = Store(tmp_path, str(mirror))
    with pytest.raises(DataError, match=r"split train: field 'translation' has no language 'de', got {.*'un'.*}$"):
        pairs(store, ("translation", "de", "en"))
    with pytest.raises(DataError, match=r"split train: field 'fr' has no language 'fr', got 'un'$"):
        pairs(store, ("fr", "fr", "en"))


def test_a_column_that_is_no_text(mirror: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"split train: holds int 1; expected text$"):
        pairs(Store(tmp_path, str(mirror)), ("number", "en"))


@pytest.mark.parametrize("changed", [{"split": "dev"}, {"config": "none"}])
def test_an_unknown_split_or_configuration(mirror: Path, tmp_path: Path, changed: dict[str, str]) -> None:
    with pytest.raises(DataError) as error:
        pairs(Store(tmp_path, str(mirror)), **changed)
    text = str(error.value)
    assert text.startswith("huggingface.co/datasets/toy/pairs (from the mirror, ")
    assert "): cannot be read, got " in text
    assert f"; expected a data set with revision 'main', config {changed.get('config')!r}, split " in text
    assert "\n" not in text
