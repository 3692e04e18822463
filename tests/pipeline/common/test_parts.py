"""Parts on disk: what comes in goes out, and what is no part is said."""

import pytest

from pipeline.common import parts
from pipeline.common.files import DataError

PAIRS = [("Le chat dort.", "The cat is sleeping."), ("Où ?", "Where?"), ("", "")]


def test_written_pairs_are_read_again(tmp_path):
    assert parts.write(tmp_path, "train", iter(PAIRS)) == 3
    assert list(parts.read(tmp_path, "train")) == PAIRS
    assert (tmp_path / "train.source.txt").read_bytes() == "Le chat dort.\nOù ?\n\n".encode()


def test_every_part_but_train_and_validation_is_a_test_part(tmp_path):
    for part in ("train", "validation", "test", "hard"):
        parts.write(tmp_path, part, [(f"{part} a", f"{part} b"), ("", "c")])
    assert parts.names(tmp_path) == ["hard", "test", "train", "validation"]
    expected = [(part, [f"{part} a", ""], [f"{part} b", "c"]) for part in ("hard", "test")]
    assert list(parts.read_tests(tmp_path)) == expected


@pytest.mark.parametrize("side", [0, 1])
def test_a_part_without_one_of_its_files_cannot_be_read(tmp_path, side):
    parts.write(tmp_path, "test", PAIRS)
    parts.paths(tmp_path, "test")[side].unlink()
    assert parts.names(tmp_path) == ["test"]
    with pytest.raises(DataError, match="no such file"):
        list(parts.read(tmp_path, "test"))


def test_a_folder_without_parts_is_named(tmp_path):
    with pytest.raises(DataError, match=r": holds no part; expected <part>\.source\.txt and <part>\.target\.txt$"):
        parts.names(tmp_path)


def test_a_copy_has_the_same_bytes(tmp_path):
    (new := tmp_path / "new").mkdir()
    source, target = parts.paths(tmp_path, "test")
    source.write_bytes("Il fait  beau\u00a0!\r\n\nÉté".encode())
    target.write_bytes(b"It is fine!\n\nSummer\n")
    assert parts.copy("test", tmp_path, new) == 3
    assert [path.read_bytes() for path in parts.paths(new, "test")] == [source.read_bytes(), target.read_bytes()]
    source.write_bytes(b"")
    target.write_bytes(b"")
    with pytest.raises(DataError, match=r"test\.source\.txt: is empty, got 0 pairs; expected at least one$"):
        parts.copy("test", tmp_path, new)
