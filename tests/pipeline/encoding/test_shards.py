"""What is written in blocks comes back row by row, mapped, and several shards by one index."""

import errno
import io

import numpy as np
import pytest

from pipeline.common import parts
from pipeline.common.files import DataError
from pipeline.common.parts import Shard
from pipeline.encoding import shards
from pipeline.encoding.shards import Encoded, pack

SHORT, WIDE = 65_536, 65_537  # pieces that take two and four bytes
SOURCE = [[5, 6, 7], [], [65535], [8, 9]]
TARGET = [[10], [70000, 12], [], [13, 14, 15]]


def write(folder, source, target, name=""):
    """A part written in two blocks."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = {"source": (source, SHORT), "target": (target, WIDE)}
    blocks = {side: [pack(rows[:1], size), pack(rows[1:], size)] for side, (rows, size) in sides.items()}
    shards.write(folder, name, blocks)
    return folder


def saved(values, dtype):
    """The bytes that `np.save` writes."""
    file = io.BytesIO()
    np.save(file, np.array(values, dtype=dtype))
    return file.getvalue()


def test_rows_come_back_mapped_and_cannot_be_changed(tmp_path):
    part = Encoded.open(write(tmp_path / "part", SOURCE, TARGET))
    assert [row.tolist() for row in part.source] == SOURCE
    assert [row.tolist() for row in part.target] == TARGET
    assert part.source.lengths.tolist() == [3, 0, 1, 2]
    assert isinstance(part.source.ids.base, np.memmap)
    assert not part.source.ids.flags.writeable


def test_the_files_are_what_numpy_saves(tmp_path):
    folder = write(tmp_path / "part", SOURCE, TARGET)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "source.ids.npy": saved([5, 6, 7, 65535, 8, 9], "<u2"),
        "source.offsets.npy": saved([0, 3, 3, 4, 6], "u1"),
        "target.ids.npy": saved([10, 70000, 12, 13, 14, 15], "<u4"),
        "target.offsets.npy": saved([0, 1, 3, 3, 6], "u1"),
    }


def test_shards_have_one_index_and_a_bitext_may_be_left_out(tmp_path):
    """The lengths of all have room for one more piece; a shard may be empty."""
    listed = [Shard("own", 0, 4), Shard("web", 0, 0), Shard("web", 1, 1), Shard("back", 0, 4)]
    texts = (SOURCE, TARGET), ([], []), ([[9] * 255], [[4] * 300]), (TARGET[:1] * 4, SOURCE)
    for shard, (source, target) in zip(listed, texts, strict=True):
        write(tmp_path / "train" / shard.bitext, source, target, f"{shard.number:05}.")
    parts.write_bitexts(tmp_path, listed)
    part = Encoded.open_bitexts(tmp_path, [])
    assert [row.tolist() for row in part.source] == [*SOURCE, [9] * 255, *TARGET[:1] * 4]
    assert [row.tolist() for row in part.target] == [*TARGET, [4] * 300, *SOURCE]
    assert (part.source.lengths + 1).tolist() == [4, 1, 2, 3, 256, 2, 2, 2, 2]
    assert len(part.source) == 9
    without = Encoded.open_bitexts(tmp_path, ["own", "web"])
    assert ([row.tolist() for row in without.target], without.shards) == (SOURCE, (listed[-1],))


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
def test_parts_without_ids_open(tmp_path, rows):
    part = Encoded.open(write(tmp_path / "part", rows, rows))
    assert [row.tolist() for row in part.source] == rows


@pytest.mark.parametrize("data", [None, b"", b"text"])
def test_a_missing_or_broken_file_is_named(tmp_path, data):
    path = write(tmp_path / "part", SOURCE, TARGET) / "target.ids.npy"
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(DataError, match=f"^{path}: .*; expected an array of the stage encode$"):
        Encoded.open(tmp_path / "part")


def test_a_full_disk_answers_enospc(tmp_path):
    (tmp_path / "target.ids.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left|requested and 0 written") as caught:
        write(tmp_path, SOURCE, TARGET)
    assert caught.value.errno == errno.ENOSPC
