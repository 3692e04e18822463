"""What is written row by row comes back row by row, mapped; broken files answer with one line."""

import errno
import io
from pathlib import Path

import numpy as np
import pytest

from pipeline.encoding.shards import Column, Encoded, Ragged, Writer, id_type, pack
from pipeline.files import DataError

SHORT, WIDE = np.dtype(np.uint16), np.dtype(np.uint32)
SOURCE = [[5, 6, 7], [], [65535], [8, 9]]
TARGET = [[10], [70000, 12], [], [13, 14, 15]]


def write(folder: Path, source: list[list[int]], target: list[list[int]], *cuts: int) -> Path:
    """A part written in blocks that end at `cuts`."""
    folder.mkdir()
    with Writer(folder, SHORT, WIDE) as writer:
        for start, end in zip((0, *cuts), (*cuts, len(source)), strict=True):
            writer(pack(source[start:end], SHORT), pack(target[start:end], WIDE))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of each file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def saved(values: list[int], dtype: str) -> bytes:
    """What `np.save` writes."""
    file = io.BytesIO()
    np.save(file, np.array(values, dtype=dtype))
    return file.getvalue()


def test_rows_come_back(tmp_path):
    part = Encoded.open(write(tmp_path / "part", SOURCE, TARGET, 1, 3))
    assert [row.tolist() for row in part.source] == SOURCE
    assert [row.tolist() for row in part.target] == TARGET
    assert len(part.source) == len(part.target) == 4
    assert part.source.lengths.tolist() == [3, 0, 1, 2]
    assert part.target.lengths.dtype == np.int32


def test_the_files_are_what_numpy_saves(tmp_path):
    assert contents(write(tmp_path / "part", SOURCE, TARGET, 2)) == {
        "source.ids.npy": saved([5, 6, 7, 65535, 8, 9], "<u2"),
        "source.offsets.npy": saved([0, 3, 3, 4, 6], "<i8"),
        "target.ids.npy": saved([10, 70000, 12, 13, 14, 15], "<u4"),
        "target.offsets.npy": saved([0, 1, 3, 3, 6], "<i8"),
    }


def test_blocks_leave_no_trace(tmp_path):
    whole = contents(write(tmp_path / "whole", SOURCE, TARGET))
    assert contents(write(tmp_path / "cut", SOURCE, TARGET, 1, 1, 2)) == whole


def test_arrays_are_mapped_and_cannot_be_changed(tmp_path):
    source = Encoded.open(write(tmp_path / "part", SOURCE, TARGET)).source
    for array in (source.ids, source.offsets):
        assert type(array) is np.ndarray
        assert isinstance(array.base, np.memmap)
        assert not array.flags.writeable


@pytest.mark.parametrize("rows", [[], [[]], [[], []]], ids=["no row", "an empty row", "two empty rows"])
def test_parts_without_ids_open(tmp_path, rows):
    part = Encoded.open(write(tmp_path / "part", rows, rows))
    assert [row.tolist() for row in part.source] == rows
    assert part.target.lengths.tolist() == [0] * len(rows)


@pytest.mark.parametrize(("size", "dtype"), [(16, "uint16"), (65536, "uint16"), (65537, "uint32")])
def test_the_type_holds_the_largest_id(size, dtype):
    assert id_type(size) == np.dtype(dtype)
    assert pack([[size - 1]], id_type(size)).ids.tolist() == [size - 1]


def test_a_missing_file_is_named(tmp_path):
    (write(tmp_path / "part", SOURCE, TARGET) / "target.ids.npy").unlink()
    with pytest.raises(DataError) as caught:
        Encoded.open(tmp_path / "part")
    expected = "no such file; expected an array of the stage encode"
    assert str(caught.value) == f"{tmp_path}/part/target.ids.npy: {expected}"


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"text", lambda b: b[:-1], lambda b: b[:20]])
def test_a_broken_file_is_named(tmp_path, damage):
    path = write(tmp_path / "part", SOURCE, TARGET) / "source.ids.npy"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError) as caught:
        Encoded.open(tmp_path / "part")
    assert str(caught.value) == f"{path}: not a whole array of numbers; expected one of the stage encode"


def test_pickled_objects_are_refused(tmp_path):
    path = write(tmp_path / "part", SOURCE, TARGET) / "source.ids.npy"
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(DataError, match="not a whole array of numbers"):
        Encoded.open(tmp_path / "part")


@pytest.mark.parametrize(("offsets", "got"), [([], "()"), ([0, 5], "(0, 5)"), ([1, 6], "(1, 6)"), ([0, 7], "(0, 7)")])
def test_offsets_that_do_not_fit_are_named(tmp_path, offsets, got):
    folder = write(tmp_path / "part", SOURCE, TARGET)
    np.save(folder / "source.offsets.npy", np.array(offsets, dtype=np.int64))
    with pytest.raises(DataError) as caught:
        Ragged.open(folder, "source")
    assert str(caught.value) == f"{folder}: source.offsets.npy: must run from 0 to the 6 ids, got {got}"


def test_sides_of_different_length_are_refused(tmp_path):
    folder = write(tmp_path / "part", SOURCE, TARGET)
    np.save(folder / "target.offsets.npy", np.array([0, 2, 6]))
    with pytest.raises(DataError) as caught:
        Encoded.open(folder)
    assert str(caught.value) == f"{folder}: 4 source rows, 2 target rows: the two must be parallel"


def test_a_full_disk_answers_enospc():
    column = Column(Path("/dev/full"), SHORT)
    column.append(np.zeros(3, SHORT))
    with pytest.raises(OSError) as caught:  # noqa: PT011 (the number says which)
        column.close()
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        (
            "source.ids.npy",
            np.array([1.0, 2, 3]),
            "source.ids.npy: must be one row of uint16 or uint32, got float64 of ",
        ),
        (
            "source.ids.npy",
            np.zeros((3, 1), SHORT),
            "source.ids.npy: must be one row of uint16 or uint32, got uint16 of ",
        ),
        (
            "source.offsets.npy",
            np.array([0, 3], np.int32),
            "source.offsets.npy: must be one row of int64, got int32 of ",
        ),
    ],
)
def test_arrays_of_another_type_are_named(tmp_path, name, array, said):
    with Writer(tmp_path, SHORT, SHORT) as write:
        write(pack([[1, 2, 3]], SHORT), pack([[4]], SHORT))
    np.save(tmp_path / name, array)
    with pytest.raises(DataError) as caught:
        Encoded.open(tmp_path)
    assert str(caught.value) == f"{tmp_path}/{said}shape {array.shape}"


def test_offsets_that_fall_are_named(tmp_path):
    with Writer(tmp_path, SHORT, SHORT) as write:
        write(pack([[1, 2], [3]], SHORT), pack([[4], [5]], SHORT))
    np.save(tmp_path / "source.offsets.npy", np.array([0, 4, 3]))
    with pytest.raises(DataError) as caught:
        Encoded.open(tmp_path)
    assert str(caught.value) == f"{tmp_path}: source.offsets.npy: must never fall, got 4 and then 3 at row 2"


def test_ids_above_the_vocabulary_are_named(tmp_path):
    with Writer(tmp_path, SHORT, SHORT) as write:
        write(pack([[1, 2, 9]], SHORT), pack([[4]], SHORT))
    assert len(Encoded.open(tmp_path, 10, 5).source) == 1
    for sizes, side, most in (((9, 5), "source", 9), ((10, 4), "target", 4)):
        with pytest.raises(DataError) as caught:
            Encoded.open(tmp_path, *sizes)
        size = sizes[side == "target"]
        assert (
            str(caught.value) == f"{tmp_path}: {side}.ids.npy: must be below the vocabulary's size {size}, got {most}"
        )
