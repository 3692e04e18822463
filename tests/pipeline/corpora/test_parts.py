"""Parts on disk: what comes in goes out, and what is no part is said."""

import re

import pytest

from pipeline.corpora import parts
from pipeline.files import DataError

PAIRS = [("Le chat dort.", "The cat is sleeping."), ("Où ?", "Where?"), ("", "")]


def test_written_pairs_are_read_again(tmp_path):
    assert parts.write(tmp_path, "train", iter(PAIRS)) == 3
    assert list(parts.read(tmp_path, "train")) == PAIRS
    assert (tmp_path / "train.source.txt").read_bytes() == "Le chat dort.\nOù ?\n\n".encode()


def test_parts_are_found_by_name(tmp_path):
    for part in ("train", "test"):
        parts.write(tmp_path, part, PAIRS)
    assert parts.names(tmp_path) == ["test", "train"]


def test_every_test_part_is_read_and_no_other(tmp_path):
    for part in ("train", "validation", "test", "hard"):
        parts.write(tmp_path, part, [(f"{part} a", f"{part} b"), ("", "c")])
    expected = [(part, [f"{part} a", ""], [f"{part} b", "c"]) for part in ("hard", "test")]
    assert list(parts.read_tests(tmp_path)) == expected


@pytest.mark.parametrize("side", [0, 1])
def test_a_part_without_one_of_its_files_is_a_part_that_cannot_be_read(tmp_path, side):
    parts.write(tmp_path, "test", PAIRS)
    missing = parts.paths(tmp_path, "test")[side]
    missing.unlink()
    assert parts.names(tmp_path) == ["test"]
    with pytest.raises(DataError, match=f"^{re.escape(str(missing))}: no such file"):
        list(parts.read(tmp_path, "test"))


def test_a_folder_without_parts_is_named(tmp_path):
    with pytest.raises(DataError) as caught:
        parts.names(tmp_path)
    assert str(caught.value) == f"{tmp_path}: holds no part; expected <part>.source.txt and <part>.target.txt"


def test_every_part_but_train_and_validation_is_a_test_part():
    assert [part for part in ("train", "validation", "test", "compositional") if parts.is_test(part)] == [
        "test",
        "compositional",
    ]


def test_a_copy_has_the_same_bytes(tmp_path):
    (new := tmp_path / "new").mkdir()
    source, target = parts.paths(tmp_path, "test")
    source.write_bytes("Il fait  beau\u00a0!\r\n\nÉté".encode())
    target.write_bytes(b"It is fine!\n\nSummer\n")
    assert parts.copy("test", tmp_path, new) == 3
    assert [path.read_bytes() for path in parts.paths(new, "test")] == [source.read_bytes(), target.read_bytes()]


def test_an_empty_part_is_not_copied(tmp_path):
    parts.write(tmp_path, "test", [])
    with pytest.raises(DataError, match=re.escape("test.source.txt: is empty, got 0 pairs; expected at least one")):
        parts.copy("test", tmp_path, tmp_path / "new")


@pytest.mark.parametrize(("names", "got"), [(["validation", "test"], "validation, test"), ([], "no part")])
def test_a_corpus_without_a_training_part(names, got, tmp_path):
    message = f"download.json: has no training part, got {got}; expected 'train'"
    with pytest.raises(DataError, match=re.escape(message)):
        parts.check_train(names, tmp_path / "download.json")
    parts.check_train([*names, "train"], tmp_path)
