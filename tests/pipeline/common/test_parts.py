"""Parts on disk: what comes in goes out, and what is no part is said."""

import pytest

from pipeline.common import parts
from pipeline.common.files import DataError

PAIRS = [("Le chat dort.", "The cat is sleeping."), ("Où ?", "Where?"), ("", "")]


def test_written_pairs_are_read_again(tmp_path):
    assert parts.write(tmp_path, "test", iter(PAIRS)) == 3
    assert list(parts.read(tmp_path, "test")) == PAIRS
    assert (tmp_path / "test.source.txt").read_bytes() == "Le chat dort.\nOù ?\n\n".encode()


def test_a_bitext_is_cut_into_shards_and_read_in_order_of_trust(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SHARD_PAIRS", 2)
    raw = [(source.encode(), target.encode()) for source, target in PAIRS]
    shards = [
        shard
        for name, pairs in (("web", raw), ("memory", raw[:2]))
        for shard in parts.write_shards(tmp_path, name, pairs)
    ]
    assert shards == [("web", 0, 2), ("web", 1, 1), ("memory", 0, 2)]
    parts.write_bitexts(tmp_path, shards)
    assert parts.read_bitexts(tmp_path) == shards
    assert list(parts.read(tmp_path, "train")) == PAIRS + PAIRS[:2]
    assert (tmp_path / "train/web/00000.source.txt").read_bytes() == "Le chat dort.\nOù ?\n".encode()


def test_every_part_but_train_and_validation_is_a_test_part(tmp_path):
    for part in ("validation", "test", "hard"):
        parts.write(tmp_path, part, [(f"{part} a", f"{part} b"), ("", "c")])
    assert parts.names(tmp_path) == ["hard", "test", "validation"]
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
