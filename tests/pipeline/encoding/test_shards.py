"""What is written row by row comes back row by row, mapped."""

import errno
import io

import numpy as np
import pytest

from pipeline.common.files import DataError
from pipeline.encoding import shards
from pipeline.encoding.shards import Encoded, pack

SHORT, WIDE = 65_536, 65_537  # pieces that take two and four bytes
SOURCE = [[5, 6, 7], [], [65535], [8, 9]]
TARGET = [[10], [70000, 12], [], [13, 14, 15]]


def write(folder, source, target, *cuts):
    """A part written in blocks that end at `cuts`."""
    folder.mkdir()
    rows = (slice(*ends) for ends in zip((0, *cuts), (*cuts, len(source)), strict=True))
    shards.write(folder, (Encoded(pack(source[row], SHORT), pack(target[row], WIDE)) for row in rows), (SHORT, WIDE))
    return folder


def saved(values, dtype):
    """The bytes that `np.save` writes."""
    file = io.BytesIO()
    np.save(file, np.array(values, dtype=dtype))
    return file.getvalue()


def test_rows_come_back_mapped_and_cannot_be_changed(tmp_path):
    part = Encoded.open(write(tmp_path / "part", SOURCE, TARGET, 1, 3))
    assert [row.tolist() for row in part.source] == SOURCE
    assert [row.tolist() for row in part.target] == TARGET
    assert part.source.lengths.tolist() == [3, 0, 1, 2]
    assert isinstance(part.source.ids.base, np.memmap)
    assert not part.source.ids.flags.writeable


@pytest.mark.parametrize("cuts", [(), (2,), (1, 1, 2)])
def test_the_files_are_what_numpy_saves_whatever_the_blocks(tmp_path, cuts):
    folder = write(tmp_path / "part", SOURCE, TARGET, *cuts)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "source.ids.npy": saved([5, 6, 7, 65535, 8, 9], "<u2"),
        "source.offsets.npy": saved([0, 3, 3, 4, 6], "<i8"),
        "target.ids.npy": saved([10, 70000, 12, 13, 14, 15], "<u4"),
        "target.offsets.npy": saved([0, 1, 3, 3, 6], "<i8"),
    }


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
    block = pack(SOURCE, SHORT)
    with pytest.raises(OSError, match="No space left") as caught:
        shards.write(tmp_path, [Encoded(block, block)], (SHORT, SHORT))
    assert caught.value.errno == errno.ENOSPC
