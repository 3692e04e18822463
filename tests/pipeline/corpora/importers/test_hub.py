"""Data sets of the hub, from a mirror's folder."""

import json
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.common.files import DataError
from pipeline.corpora.fetching import Downloads
from pipeline.corpora.importers import hub

ROWS = [
    {"fr": "un", "en": "one", "number": 1, "translation": {"fr": "un", "en": "one"}},
    {"fr": "deux\r\ndeux", "en": None, "number": 2, "translation": {"fr": "deux\r\ndeux", "en": None}},
    {"fr": '"NULL', "en": "N/A", "number": 3, "translation": {"fr": '"NULL', "en": "N/A"}},
]
PAIRS = [(b"un", b"one"), (b"deux deux", b""), (b'"NULL', b"N/A")]
COLUMNS = {"source_column": "fr", "target_column": "en"}
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.fixture
def folder(tmp_path):
    """A mirror's folder of the data set toy/pairs."""
    (path := tmp_path / "mirror/huggingface.co/datasets/toy/pairs").mkdir(parents=True)
    return path


def source(**keys):
    about = {"kind": "hub", "dataset": "toy/pairs", "revision": "main", "split": "train"}
    return hub.Source.model_validate(about | (keys if "translation_field" in keys else COLUMNS | keys))


def pairs(folder, languages=("fr", "en"), **keys):
    mirror = folder.parents[3]
    return read(source(**keys), languages, Downloads(mirror.parent / "downloads", str(mirror)))


def read(source, languages, downloads):
    return [pair for text in hub.texts(source, downloads) for pair in hub.pairs(text.path, source, languages)]


def test_columns_or_a_field_of_languages_from_every_format(folder):
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "train-0.parquet")
    assert pairs(folder) == pairs(folder, translation_field="translation") == PAIRS
    (folder / "train-0.parquet").unlink()
    (folder / "train.jsonl").write_text(LINES)
    (folder / "test.jsonl").write_text('{"fr": "a", "en": "b"}\n')
    assert pairs(folder) == pairs(folder, translation_field="translation") == PAIRS
    assert pairs(folder, split="test") == [(b"a", b"b")]


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("train.csv", 'number,fr,en\n1,un,one\n2,"deux\ndeux",\n3,"""NULL",N/A\n'),
        ("train.tsv", 'fr\ten\nun\tone\ndeux deux\t\n"NULL\tN/A\n'),
    ],
)
def test_tables_keep_every_row_quote_and_word_for_nothing(folder, name, table):
    (folder / name).write_text(table)
    assert pairs(folder) == PAIRS


def test_a_mirror_has_a_folder_for_each_revision(folder):
    (folder / "train.jsonl").write_text(LINES)
    pinned = folder.with_name("pairs@v1.0")
    pinned.mkdir()
    (pinned / "train.jsonl").write_text('{"fr": "vieux", "en": "old"}\n')
    assert pairs(folder, revision="v1.0") == [(b"vieux", b"old")]
    assert pairs(folder) == PAIRS


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"split": "tran"}, "no such split; nearest is 'train'"),
        ({"target_column": "eng"}, "train.jsonl: has no column 'eng'; nearest is 'en'"),
        ({"source_column": "number"}, "cannot be read, got int 1, which is no text; expected a data set"),
        ({"translation_field": "fr"}, "train.jsonl fr: has no column 'fr'"),
        ({"config": "none"}, "cannot be read, got BuilderConfig 'none' not found"),
    ],
)
def test_what_a_data_set_has_not_is_named(folder, keys, message):
    (folder / "train.jsonl").write_text(LINES)
    with pytest.raises(DataError) as error:
        pairs(folder, **keys)
    assert message in str(error.value)


@pytest.mark.parametrize("place", ["/etc/passwd", "../other/train.jsonl", "http://127.0.0.1:9/x.jsonl", "x.txt"])
def test_a_data_set_of_files_of_another_place_or_kind_is_refused(folder, place):
    (folder / "x.txt").write_text("text\n")
    (folder.parent / "other").mkdir()
    (folder.parent / "other/train.jsonl").write_text(LINES)
    configs = [{"config_name": "default", "data_files": [{"split": "train", "path": place}]}]
    (folder / "README.md").write_text(f"---\n{json.dumps({'configs': configs})}\n---\n")
    with pytest.raises(DataError, match="expected"):
        pairs(folder)


def stated(folder, **keys):
    mirror = folder.parents[3]
    return source(**keys).stated(("fr", "en"), Downloads(mirror.parent / "downloads", str(mirror)))


def test_the_number_of_rows_is_that_of_the_card_of_parquet_or_of_the_lines(folder):
    for number in range(2):
        pq.write_table(pa.Table.from_pylist(ROWS), folder / f"train-{number}.parquet")
    assert stated(folder) == (6, None)
    info = {"splits": [{"name": "train", "num_examples": 4_500_000, "num_bytes": 1}]}
    (folder / "README.md").write_text(f"---\n{json.dumps({'dataset_info': info})}\n---\n")
    assert stated(folder) == (4_500_000, None)
    (pinned := folder.with_name("pairs@v1")).mkdir()
    (pinned / "train.jsonl").write_text(LINES)
    assert stated(folder, revision="v1") == (3, None)


def test_damaged_files_are_named(folder):
    (folder / "train.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(DataError, match=r"^huggingface\.co/datasets/toy/pairs@main train: cannot be read, got "):
        pairs(folder)


def test_files_of_the_hub_are_kept_by_their_commit(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text(LINES)
    urls = {"train": ["hf://datasets/toy/pairs@c0ffee/data/a.jsonl"]}
    builder = SimpleNamespace(config=SimpleNamespace(data_files=urls), info=SimpleNamespace(splits=None))
    asked = []

    def fetch(dataset, path, **where):
        asked.append((dataset, path, where["revision"], where["cache_dir"]))
        return tmp_path / "a.jsonl"

    monkeypatch.setattr("datasets.load_dataset_builder", lambda address, name, revision: builder)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", fetch)
    assert read(source(), ("fr", "en"), Downloads(tmp_path)) == PAIRS
    assert asked == [("toy/pairs", "data/a.jsonl", "c0ffee", tmp_path / "huggingface.co")]
