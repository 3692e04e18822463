"""A file is whole or not there, whatever interrupts; text is read strictly; each message by its text."""

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import files
from pipeline.files import DataError

FULL = Path("/dev/full")  # answers every write with ENOSPC
needs_full = pytest.mark.skipif(not FULL.is_char_device(), reason="this system has no /dev/full")


def fill_disk(path, monkeypatch):
    """Let the next file written to `path` meet a full disk: its partial file is one already."""
    monkeypatch.setattr(files, "token", lambda: "full")
    path.parent.mkdir(parents=True, exist_ok=True)
    files.unfinished(path).symlink_to(FULL)


def test_new_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "a" / "b.txt"
    with files.new_file(path) as file:
        file.write("é\n")
        assert not path.exists()
    assert path.read_bytes() == b"\xc3\xa9\n"
    assert os.listdir(path.parent) == ["b.txt"]


def test_new_file_of_bytes(tmp_path):
    with files.new_file(tmp_path / "a", "wb") as file:
        file.write(b"\xff\r\n")
    assert (tmp_path / "a").read_bytes() == b"\xff\r\n"


def lines_and_interrupt():
    yield "new"
    raise KeyboardInterrupt


def test_failed_new_file_leaves_the_old_one(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        files.write_lines(path, lines_and_interrupt())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_new_folder_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "x" / "out"
    with files.new_folder(path) as folder:
        (folder / "a").write_text("1")
        assert not path.exists()
    assert os.listdir(path) == ["a"]
    assert os.listdir(path.parent) == ["out"]


def test_new_folder_replaces_old_and_leftover(tmp_path):
    for name in ("out", ".out.partial", ".out.0123abcd.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stale").touch()
    with files.new_folder(tmp_path / "out") as folder:
        assert os.listdir(folder) == []
        (folder / "a").touch()
    assert os.listdir(tmp_path / "out") == ["a"]
    assert os.listdir(tmp_path) == ["out"]


def test_failed_new_folder_leaves_the_old_one(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    with pytest.raises(ZeroDivisionError), files.new_folder(tmp_path / "out") as folder:
        files.write_lines(folder / "a", [str(1 / 0)])
    assert os.listdir(tmp_path / "out") == ["old"]
    assert os.listdir(tmp_path) == ["out"]


def make_node(path, kind):
    """A folder, a pipe, or a link to a device."""
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device"])
def test_what_is_no_ordinary_file_is_not_replaced(tmp_path, kind):
    make_node(tmp_path / "out", kind)
    before = os.lstat(tmp_path / "out")
    with pytest.raises(DataError) as error:
        files.write_lines(tmp_path / "out", ["a"])
    assert str(error.value) == f"{tmp_path}/out: is {kind}; expected an ordinary file, or none"
    assert os.path.samestat(os.lstat(tmp_path / "out"), before)
    assert os.listdir(tmp_path) == ["out"]


def test_a_device_is_not_replaced():
    with pytest.raises(DataError) as error:
        files.write_lines(Path(os.devnull), ["a"])
    assert str(error.value) == "/dev/null: is a device; expected an ordinary file, or none"
    assert Path(os.devnull).is_char_device()


@needs_full
@pytest.mark.parametrize("size", [1, 1 << 20])  # found when the file is flushed, and while it is written
def test_full_disk_leaves_no_file_and_names_it(tmp_path, monkeypatch, size):
    path = tmp_path / "out" / "a"
    fill_disk(path, monkeypatch)
    with pytest.raises(OSError, match="No space left on device") as error:
        files.write_lines(path, ["x" * size])
    assert error.value.errno == errno.ENOSPC
    assert error.value.filename == str(path)
    assert os.listdir(path.parent) == []
    assert FULL.is_char_device()


def fill_folder(folder):
    (folder / "first").write_text("fits")
    (folder / "second").symlink_to(FULL)
    (folder / "second").write_text("does not")


@needs_full
def test_full_disk_leaves_no_folder_and_names_it(tmp_path):
    with pytest.raises(OSError, match="No space left on device") as error, files.new_folder(tmp_path / "out") as folder:
        fill_folder(folder)
    assert error.value.filename == str(tmp_path / "out")
    assert os.listdir(tmp_path) == []
    assert FULL.is_char_device()


KILLED = {
    "file": "with files.new_file(out) as file: file.write('half'); file.flush(); stop()",
    "folder": "with files.new_folder(out) as folder: (folder / 'a').write_text('half'); stop()",
    "lines": "files.write_lines(out, (stop() if i == 99_999 else 'half' for i in range(100_000)))",
}


@pytest.mark.parametrize("how", KILLED)
def test_killed_writer_leaves_what_was_there(tmp_path, project_root, how):
    """kill -9 in the middle: the target is the old one, and the next writer is not disturbed."""
    out = tmp_path / "out"
    if how == "folder":
        out.mkdir()
        (out / "old").touch()
    else:
        out.write_text("old")
    lines = (
        "import os, signal, sys; from pathlib import Path; from pipeline import files; out = Path(sys.argv[1])",
        "def stop(): os.kill(os.getpid(), signal.SIGKILL)",
        KILLED[how],
    )
    killed = subprocess.run([sys.executable, "-c", "\n".join(lines), str(out)], cwd=project_root, check=False)
    assert killed.returncode == -signal.SIGKILL
    left = set(os.listdir(tmp_path)) - {"out"}
    assert re.fullmatch(r"\.out\.[0-9a-f]{8}\.partial", *left)
    if how == "folder":
        assert os.listdir(out) == ["old"]
        with files.new_folder(out) as folder:
            (folder / "a").touch()
        assert os.listdir(out) == ["a"]
    else:
        assert out.read_text() == "old"
        assert files.write_lines(out, ["new"]) == 1
        assert out.read_text() == "new\n"
    assert os.listdir(tmp_path) == ["out"]


def test_no_writer_takes_away_what_another_writes(tmp_path):
    """Two at one folder: both are whole while they are written, and the last to end is what stands there."""
    out = tmp_path / "out"
    with files.new_folder(out) as first:
        files.write_lines(first / "a", ["first"])
        with files.new_folder(out) as second:
            files.write_lines(second / "a", ["second"])
            assert first != second
            assert (first / "a").read_text() == "first\n"
        assert (out / "a").read_text() == "second\n"
    assert (out / "a").read_text() == "first\n"
    assert os.listdir(tmp_path) == ["out"]


def test_no_writer_takes_away_the_file_that_another_writes(tmp_path):
    with files.new_file(tmp_path / "a") as first, files.new_file(tmp_path / "a") as second:
        first.write("first")
        second.write("second")
    assert (tmp_path / "a").read_text() == "first"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("new", [files.new_file, files.new_folder])
def test_what_another_takes_for_left_is_begun_anew(tmp_path, monkeypatch, new):
    """Between the birth of what is unfinished and its lock nothing tells it from what a killed process left."""
    lock, removed = files.lock_unfinished, []

    def late(opened):
        if not removed:
            removed.extend(os.listdir(tmp_path))
            files.remove_leftovers(tmp_path / "out", tmp_path / "mine")
            assert os.listdir(tmp_path) == []
        lock(opened)

    monkeypatch.setattr(files, "lock_unfinished", late)
    with new(tmp_path / "out"):
        assert len(removed) == 1
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == ["out"]


def fill(out, spoil, *, first=True):
    """Write a folder, spoilt `first` or after its file."""
    with files.new_folder(out) as folder:
        if first:
            spoil(folder)
        files.write_lines(folder / "a", ["12"])
        if not first:
            spoil(folder)


def remove(folder):
    shutil.rmtree(folder)


def remove_and_make(folder):
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize("how", [remove, remove_and_make])
def test_a_folder_that_was_taken_away_is_not_published(tmp_path, how):
    with pytest.raises(DataError) as error:
        fill(tmp_path / "out", how, first=False)
    said = f"{tmp_path / 'out'}: was removed while it was written; expected no other process there"
    assert str(error.value) == said
    assert os.listdir(tmp_path) == []


def test_no_file_makes_the_folder_anew_that_was_taken_away(tmp_path):
    with pytest.raises(DataError) as error:
        fill(tmp_path / "out", remove)
    said = "/a: its folder was removed while it was written; expected no other process there"
    assert str(error.value).endswith(said)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("left", "got"), [(None, "no a"), ("1", "1 bytes in a")])
def test_a_folder_that_lost_something_is_not_published(tmp_path, left, got):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/old").touch()
    spoil = Path.unlink if left is None else lambda path: path.write_text(left)
    with pytest.raises(DataError) as error:
        fill(tmp_path / "out", lambda folder: spoil(folder / "a"), first=False)
    said = f"{tmp_path / 'out'}: was changed while it was written, got {got}; expected 3 bytes"
    assert str(error.value) == said
    assert os.listdir(tmp_path / "out") == ["old"]
    assert os.listdir(tmp_path) == ["out"]


def test_what_a_library_wrote_is_noted(tmp_path):
    def spoil(folder):
        (folder / "b").write_text("1")
        files.record_written(folder / "b")
        files.copy_file(folder / "b", folder / "c")
        (folder / "b").unlink()

    with pytest.raises(DataError, match=r"got no b; expected 1 bytes$"):
        fill(tmp_path / "out", spoil)


def test_folders_in_a_new_folder_are_made(tmp_path):
    with files.new_folder(tmp_path / "out") as folder:
        files.write_lines(folder / "a/b/c", ["1"])
    assert (tmp_path / "out/a/b/c").read_text() == "1\n"


def test_a_file_is_no_folder_to_replace(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(NotADirectoryError), files.new_folder(tmp_path / "out") as folder:
        (folder / "a").touch()
    assert (tmp_path / "out").read_text() == "mine"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("text", ["", "{", '{"a": 1', "\xff", "[" * 100_000])
def test_json_that_is_none_is_named(tmp_path, text):
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(DataError) as error:
        files.read_json(tmp_path / "a.json")
    where = re.escape(str(tmp_path))
    assert re.fullmatch(
        rf"{where}/a\.json: not valid JSON, got (line 1 column \d+|bytes); expected what an earlier stage writes",
        str(error.value),
    )


def test_files_that_are_not_there_are_named(tmp_path):
    path, expected = tmp_path / "a", "expected what an earlier stage writes"
    for read in (lambda: list(files.read_lines(path)), lambda: files.count_lines(path), lambda: files.read_table(path)):
        with pytest.raises(DataError) as error:
            read()
        assert str(error.value) == f"{path}: no such file; {expected}"
    with pytest.raises(DataError) as error:
        files.read_json(path)
    assert str(error.value) == f"{path}: no such file; expected JSON that an earlier stage writes"


def test_a_table_is_read_as_written(tmp_path):
    files.write_table(tmp_path / "a.csv", [{"a": 1, "b": "x,y"}, {"a": 2, "b": ""}])
    assert files.read_table(tmp_path / "a.csv") == [{"a": "1", "b": "x,y"}, {"a": "2", "b": ""}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty, got 0 rows; expected what an earlier stage writes"),
        ("a,b\n", "is empty, got 0 rows; expected what an earlier stage writes"),
        ("a,b\n1,2\n1\n", "row 2 does not fit the first line; expected as many values as names"),
        ("a,b\n1,2,3\n", "row 1 does not fit the first line; expected as many values as names"),
        ('a,b\n"1', "not valid CSV, unexpected end of data; expected what an earlier stage writes"),
    ],
)
def test_a_table_that_is_none_is_named(tmp_path, text, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError) as error:
        files.read_table(tmp_path / "a.csv")
    assert str(error.value) == f"{tmp_path / 'a.csv'}: {said}"


def test_json_is_read_as_written(tmp_path):
    value = {"b": ["é", 1.5, None], "a": {}}
    files.write_json(tmp_path / "a.json", value)
    assert files.read_json(tmp_path / "a.json") == value
    assert list(files.read_json(tmp_path / "a.json")) == ["b", "a"]  # the writer's order
    assert "é" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_json_has_no_nan(tmp_path):
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        files.write_json(tmp_path / "a.json", float("nan"))
    assert os.listdir(tmp_path) == []


def test_json_of_another_program(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"é": 1}))
    assert files.read_json(tmp_path / "a.json") == {"é": 1}


@pytest.mark.parametrize("lines", [[], [""], ["", "a", ""], ["a\x85b\u2028c\x0cd\re", "\ufeffé"]])
def test_lines_are_read_as_written(tmp_path, lines):
    """Only a line feed ends a line; Python's splitlines knows nine more characters."""
    assert files.write_lines(tmp_path / "a", lines) == len(lines)
    assert list(files.read_lines(tmp_path / "a")) == lines
    assert files.count_lines(tmp_path / "a") == len(lines)


def test_a_table_by_hand(tmp_path):
    files.write_table(tmp_path / "a.csv", [{"update": 2, "what": "one, two"}, {"update": 4, "what": 'a "b"'}])
    assert (tmp_path / "a.csv").read_bytes() == b'update,what\n2,"one, two"\n4,"a ""b"""\n'


def test_lines_of_other_ends(tmp_path):
    (tmp_path / "a").write_bytes(b"a\r\n\r\nb\r\r\nc")
    assert list(files.read_lines(tmp_path / "a")) == ["a", "", "b\r", "c"]
    assert files.count_lines(tmp_path / "a") == 4


def test_line_that_is_no_utf_8(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(DataError) as error:
        list(files.read_lines(path))
    assert str(error.value) == f"{path} line 2: invalid UTF-8, got byte 0xef at column 3; expected text in UTF-8"


def test_pairs(tmp_path):
    files.write_lines(tmp_path / "s", ["a", "", "c"])
    files.write_lines(tmp_path / "t", ["x", "y", ""])
    assert list(files.read_pairs(tmp_path / "s", tmp_path / "t")) == [("a", "x"), ("", "y"), ("c", "")]


@pytest.mark.parametrize(("source", "target"), [(3, 2), (2, 3), (0, 1)])
def test_files_that_are_not_parallel(tmp_path, source, target):
    files.write_lines(tmp_path / "c.de", ["a"] * source)
    files.write_lines(tmp_path / "c.en", [""] * target)
    with pytest.raises(DataError) as error:
        list(files.read_pairs(tmp_path / "c.de", tmp_path / "c.en"))
    said = f"{tmp_path}/c.de has {source} lines, c.en {target}: the two files must be parallel"
    assert str(error.value) == said


def test_sha256_is_of_all_files_in_order(tmp_path):
    big = bytes(range(256)) * 8192  # two blocks
    (tmp_path / "a").write_bytes(big)
    (tmp_path / "b").write_bytes(b"end")
    assert files.sha256(tmp_path / "a", tmp_path / "b") == hashlib.sha256(big + b"end").hexdigest()
    assert files.sha256() == hashlib.sha256().hexdigest()


def test_a_line_without_an_end_is_named(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"a\n" + b"b" * (files.LINE_BYTES - 1) + b"\nc")
    assert [len(line) for line in files.read_lines(path)] == [1, files.LINE_BYTES - 1, 1]
    for size in (files.LINE_BYTES, files.LINE_BYTES + 1):  # the end that the line lacks counts too
        path.write_bytes(b"a\n" + b"b" * size)
        with pytest.raises(files.DataError) as error:
            list(files.read_lines(path))
        assert str(error.value) == f"{path} line 2: has over 1,048,576 bytes; expected one sentence a line"


@pytest.mark.parametrize(("content", "count"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\nb", 3), (b"\n", 1)])
def test_lines_are_counted_in_blocks(tmp_path, content, count):
    (tmp_path / "a").write_bytes(content)
    assert files.count_lines(tmp_path / "a") == count
