"""Data sets of the hub, from folders made here."""

import errno
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import files
from pipeline.corpora import hub
from pipeline.corpora.fetching import Store
from pipeline.files import DataError
from tests.hub_server import HubServer, serving_hub

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


def test_the_hub_is_asked_and_what_it_brings_is_kept_in_the_store(tmp_path: Path, project_root: Path) -> None:
    """`HF_ENDPOINT` names a mirror of the hub; libraries read it when they are imported, hence a process."""
    with serving_hub() as served:
        served.files = {
            f"data/{split}.jsonl": ("".join(json.dumps(row) + "\n" for row in ROWS)).encode() for split in "ab"
        }
        served.files["README.md"] = card({"train": "data/a.jsonl", "test": "data/b.jsonl"})
        (tmp_path / "toy/pairs").mkdir(parents=True)  # is not the data set, whatever its name
        for _ in range(2):
            assert asked(tmp_path, project_root, served) == str(PAIRS)
        fetched = [path for path in served.asked if path.startswith("GET /datasets/toy/pairs/resolve")]
        assert sorted(set(fetched)) == sorted(fetched) != []
    assert list((tmp_path / "downloads" / hub.HOST).rglob("*.arrow"))
    assert sorted(os.listdir(tmp_path)) == ["downloads", "home", "toy"]
    assert os.listdir(tmp_path / "home") == []


def test_who_has_logged_in_is_known_to_the_hub(tmp_path: Path, project_root: Path) -> None:
    """`hf auth login` writes the token into the user's home; what is fetched goes elsewhere all the same."""
    token = tmp_path / "home/.cache/huggingface/token"
    token.parent.mkdir(parents=True)
    token.write_text("hf_ours")
    with serving_hub() as served:
        served.files = {"train.jsonl": b'{"fr": "un", "en": "one"}\n'}
        assert asked(tmp_path, project_root, served) == "[(b'un', b'one')]"
    assert "Bearer hf_ours" in served.tokens
    assert os.listdir(token.parent) == ["token"]


def card(data_files: object, **more: object) -> bytes:
    """A README that says where a data set's files are."""
    splits = (
        [{"split": split, "path": path} for split, path in data_files.items()]
        if isinstance(data_files, dict)
        else data_files
    )
    return f"---\n{json.dumps({'configs': [{'config_name': 'default', 'data_files': splits, **more}]})}\n---\n".encode()


def asked(folder: Path, project_root: Path, served: HubServer, **more: str) -> str:
    """What `hub.pairs` gives, or the message of its DataError, in a process of its own in `folder`."""
    script = (
        "from pathlib import Path; from pipeline.corpora import hub; from pipeline.corpora.fetching import Store\n"
        "from pipeline.files import DataError\n"
        "try: print(list(hub.pairs('toy/pairs', 'main', None, 'train', ('fr', 'en'), Store(Path('downloads')))))\n"
        "except DataError as error: print(error)"
    )
    (folder / "home").mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_"))}
    environment |= {"HF_ENDPOINT": served.address, "PYTHONPATH": str(project_root), "HOME": str(folder / "home")}
    environment |= more
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def test_names_that_a_hub_gives_stay_in_the_cache(tmp_path: Path, project_root: Path) -> None:
    with serving_hub() as served:
        served.files["data/train.jsonl"] = b'{"fr": "un", "en": "one"}\n'
        served.etag = f'"{tmp_path}/outside"'
        where = "huggingface.co/datasets/toy/pairs"
        expected = where + ": the server gave a name that is none, got {}; expected letters and digits"
        assert asked(tmp_path, project_root, served) == expected.format(tmp_path / "outside")
        served.etag = None
        for commit in ("../../../outside", f"{tmp_path}/outside"):  # that of missing files too, such as README.md
            served.commit = commit
            assert asked(tmp_path, project_root, served) == expected.format(commit)
    assert sorted(os.listdir(tmp_path)) == ["downloads", "home"]
    assert not list((tmp_path / "downloads").rglob("outside"))


def test_an_earlier_copy_is_not_taken_for_what_the_hub_does_not_give(tmp_path: Path, project_root: Path) -> None:
    """Nor does it hide why the hub does not give it."""
    with serving_hub() as served:
        served.files["train.jsonl"] = b'{"fr": "un", "en": "one"}\n'
        assert asked(tmp_path, project_root, served) == "[(b'un', b'one')]"
        said = asked(tmp_path, project_root, served, HF_HUB_OFFLINE="1")
        assert said.startswith("huggingface.co/datasets/toy/pairs: the hub could not be asked, got ")
        assert said.endswith("; expected a connection, or a mirror (CORPUS_MIRROR)")
        served.commit = "../outside"
        assert "the server gave a name that is none, got ../outside;" in asked(tmp_path, project_root, served)


def test_a_hub_out_of_reach_is_told_from_a_data_set_that_is_not_there() -> None:
    from huggingface_hub.utils import httpx

    expected = "x: the hub could not be asked, got gone; expected a connection, or a mirror (CORPUS_MIRROR)"
    for error in (ConnectionError("gone"), httpx.ConnectError("gone"), httpx.ReadTimeout("gone")):
        assert str(hub.explanation("x", "y", error)) == expected
    wrapped = RuntimeError("gone")  # as the library wraps them
    wrapped.__cause__ = httpx.ConnectError("refused")
    assert str(hub.explanation("x", "y", wrapped)) == expected
    expected = "x: cannot be read, got gone; expected a data set with y"
    assert str(hub.explanation("x", "y", FileNotFoundError("gone"))) == expected


def test_damaged_files_of_the_hub_are_fetched_again(tmp_path: Path, project_root: Path) -> None:
    """Under the same name and commit, by which the library would find the damaged one."""
    sound = io.BytesIO()
    pq.write_table(pa.table({"fr": ["un"], "en": ["one"]}), sound)
    with serving_hub() as served:
        served.files["train.parquet"] = b"PAR1 no PAR1"
        said = asked(tmp_path, project_root, served)
        assert said.startswith("huggingface.co/datasets/toy/pairs: cannot be read, got ")
        assert "\n" not in said
        served.files["train.parquet"] = sound.getvalue()
        assert asked(tmp_path, project_root, served) == "[(b'un', b'one')]"


@pytest.mark.parametrize(
    "place", ["/etc/passwd", "../other/train.jsonl", "http://127.0.0.1:9/x.jsonl", "zip://*::data/x.zip"]
)
def test_a_data_set_of_files_of_another_place_is_refused(mirror: Path, tmp_path: Path, place: str) -> None:
    folder = mirror / hub.HOST / "datasets/toy/pairs"
    (folder / "README.md").write_bytes(card(place))
    with pytest.raises(DataError) as error:
        pairs(Store(tmp_path, str(mirror)))
    assert str(error.value) == (
        f"huggingface.co/datasets/toy/pairs (from the mirror, {folder}): names data files of another place, "
        f"got {place}; expected files of its own"
    )


def test_files_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / hub.HOST / "datasets/toy/pairs"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "train.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("a.json"))
    with pytest.raises(DataError, match=r": holds webdataset files; expected one of arrow, csv, json, parquet, text$"):
        pairs(Store(tmp_path, str(tmp_path / "mirror")))


def test_files_that_are_damaged_are_named(mirror: Path, tmp_path: Path) -> None:
    folder = mirror / hub.HOST / "datasets/toy/pairs"
    with (folder / "data/train.jsonl").open("ab") as file:
        file.write(b'{"fr": \x1b[2J\n')
    with pytest.raises(DataError) as error:
        pairs(Store(tmp_path, str(mirror)))
    assert str(error.value).startswith(
        f"huggingface.co/datasets/toy/pairs (from the mirror, {folder}): cannot be read, got "
    )
    assert str(error.value).isprintable()


def test_an_address_as_mirror_is_for_files_alone(mirror: Path, tmp_path: Path) -> None:
    assert hub.mirrored("toy/pairs", "main", Store(tmp_path, "http://127.0.0.1:9")) is None


def test_a_mirror_has_a_folder_for_each_revision(mirror: Path, tmp_path: Path) -> None:
    store, main = Store(tmp_path / "downloads", str(mirror)), mirror / hub.HOST / "datasets/toy/pairs"
    for revision in ("v1.0", "refs/pr/1"):
        pinned = Path(f"{main}@{revision}")
        with pytest.raises(DataError) as error:
            pairs(store, revision=revision)
        assert str(error.value) == (
            f"{pinned}: no such folder, got only {main}, whose revision is 'main'; expected revision {revision!r}"
        )
        pinned.mkdir(parents=True)
        (pinned / "train.jsonl").write_text(json.dumps({"fr": revision, "en": "old"}) + "\n")
        assert pairs(store, revision=revision) == [(revision.encode(), b"old")]
    assert pairs(store) == PAIRS


def test_a_text_that_is_no_sentence_is_refused(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LINE_BYTES", 3)
    with pytest.raises(DataError, match=r"split train: holds a text of over 3 bytes; expected sentences$"):
        pairs(Store(tmp_path, str(mirror)))
    with pytest.raises(DataError):  # two letters of two bytes each
        list(hub.sentences({"fr": ["éé"], "en": ["a"]}, ("fr", "en"), "here"))


def test_words_that_tables_take_for_nothing_are_sentences(tmp_path: Path, project_root: Path) -> None:
    table = b"fr,en\nNULL,N/A\nnan,\n"
    folder = tmp_path / "mirror" / hub.HOST / "datasets/toy/pairs"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_bytes(table)
    expected = [(b"NULL", b"N/A"), (b"nan", b"")]
    assert pairs(Store(tmp_path / "downloads", str(tmp_path / "mirror"))) == expected
    with serving_hub() as served:
        served.files = {"train.csv": table}
        assert asked(tmp_path, project_root, served) == str(expected)


def test_the_users_own_cache_is_never_removed(tmp_path: Path, project_root: Path) -> None:
    with serving_hub() as served:
        served.files["train.parquet"] = b"PAR1 no PAR1"
        assert "cannot be read" in asked(tmp_path, project_root, served, HF_HUB_CACHE=str(tmp_path / "theirs"))
    assert list((tmp_path / "theirs/datasets--toy--pairs").rglob("train.parquet"))


def test_a_full_disk_is_no_fault_of_the_data_set(tmp_path: Path) -> None:
    def fill() -> None:
        try:
            raise OSError(errno.ENOSPC, "full")
        except OSError as error:
            raise ValueError("while preparing") from error

    with pytest.raises(OSError, match="full"), hub.explained("x", "y", Store(tmp_path)):
        fill()


def test_without_a_mirror_there_is_no_folder(mirror: Path, tmp_path: Path) -> None:
    assert hub.mirrored("toy/pairs", "main", Store(tmp_path)) is None
    for revision in ("main", "v1.0"):
        assert hub.mirrored("toy/none", revision, Store(tmp_path, str(mirror))) is None


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


def test_a_field_that_is_missing_is_an_empty_pair(mirror: Path, tmp_path: Path) -> None:
    path = mirror / hub.HOST / "datasets/toy/pairs/data/train.jsonl"
    kept = {"translation": ROWS[0]["translation"]}
    for rows in ([kept, {"translation": None}], [{"translation": None}, kept]):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        store = Store(tmp_path / "downloads", str(mirror))
        assert sorted(pairs(store, ("translation", "fr", "en"))) == [(b"", b""), PAIRS[0]]


def test_every_row_of_a_field_has_the_languages() -> None:
    rows = [{"fr": "un", "en": "one"}, None, "deux"]
    with pytest.raises(DataError, match=r"^toy: field 'translation' has no language 'fr', got 'deux'$"):
        list(hub.sentences({"translation": rows}, ("translation", "fr", "en"), "toy"))
