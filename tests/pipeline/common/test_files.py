"""Files and folders appear whole or not at all, and wrong ones are named."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.common import files
from pipeline.common.files import DataError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def full_disk(monkeypatch):
    """Nothing reaches the disk."""

    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)


@pytest.mark.parametrize(("mode", "content", "data"), [("w", "ä\n", "ä\n".encode()), ("wb", b"\0", b"\0")])
def test_a_new_file_appears_when_the_block_ends(tmp_path, mode, content, data):
    path = tmp_path / "made/a"
    with files.new_file(path, mode) as file:
        file.write(content)
        assert not path.exists()
    assert path.read_bytes() == data
    assert names(path.parent) == ["a"]


def test_a_new_folder_replaces_the_old_one_and_what_a_kill_left(tmp_path):
    for name in ("out", ".out.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").touch()
    with files.new_folder(tmp_path / "out") as folder:
        files.write_lines(folder / "below/new", ["a"])
        assert names(tmp_path / "out") == ["old"]
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["below"]


@pytest.mark.parametrize("new", [files.new_file, files.new_folder])
def test_a_failed_block_leaves_what_was_there(tmp_path, new):
    files.write_lines(tmp_path / "out/a", ["old"])
    target = tmp_path / "out/a" if new is files.new_file else tmp_path / "out"
    with pytest.raises(KeyError), new(target):
        raise KeyError
    assert list(files.read_lines(tmp_path / "out/a")) == ["old"]
    assert (names(tmp_path), names(tmp_path / "out")) == (["out"], ["a"])


def test_a_full_disk_leaves_nothing_and_names_the_file(tmp_path, full_disk):
    with pytest.raises(OSError, match="No space left") as caught, files.new_folder(tmp_path / "out") as folder:
        files.write_json(folder / "a.json", {})
    assert caught.value.filename == str(tmp_path / ".out.partial/a.json")
    assert names(tmp_path) == []


KILLED = """
import os, signal
from pathlib import Path
from pipeline.common import files
with files.new_folder(Path("out")) as folder:
    files.write_lines(folder / "a", ["new"])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_what_was_there(tmp_path, project_root):
    files.write_lines(tmp_path / "out/a", ["old"])
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env=environment, check=False)
    assert list(files.read_lines(tmp_path / "out/a")) == ["old"]
    with files.new_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(("path", "kind"), [(Path("/dev/null"), "a device"), (Path("/tmp"), "a folder")])
def test_what_is_no_file_is_not_replaced(path, kind):
    with pytest.raises(DataError, match=f"^{path}: is {kind}; expected a file to write$"), files.new_file(path):
        pass


def test_json_tables_and_lines_are_read_as_written(tmp_path):
    files.write_json(tmp_path / "a.json", {"é": [1, None]})
    assert (tmp_path / "a.json").read_bytes() == '{\n  "é": [\n    1,\n    null\n  ]\n}\n'.encode()
    assert files.read_json(tmp_path / "a.json") == {"é": [1, None]}
    files.write_table(tmp_path / "a.csv", [{"x": 1, "y": "a,b"}, {"x": 0.5, "y": ""}])
    assert (tmp_path / "a.csv").read_bytes() == b'x,y\n1,"a,b"\n0.5,\n'
    assert files.read_table(tmp_path / "a.csv") == [{"x": "1", "y": "a,b"}, {"x": "0.5", "y": ""}]
    lines = ["", "a\u2028b", "\x0c", "é", "a\rb"]
    assert files.write_lines(tmp_path / "a.txt", lines) == 5
    assert list(files.read_lines(tmp_path / "a.txt")) == lines


@pytest.mark.parametrize(
    ("read", "data", "fault"),
    [
        (files.read_json, None, ": no such file; expected what an earlier stage writes"),
        (files.read_json, b'{"a": }', ": not valid JSON (Expecting value: line 1 column 7 (char 6)); "),
        (files.read_table, b"x,y\n", ": has no rows; expected what an earlier stage writes"),
        (files.read_lines, None, ": no such file; expected what an earlier stage writes"),
        (
            files.read_lines,
            b"ok\nab\xff\n",
            " line 2: invalid UTF-8, got byte 0xff at column 3, perhaps of ISO-8859-1 or Windows-1252; ",
        ),
        (files.read_lines, b"a\n" + b"b" * (files.LINE_BYTES + 1), " line 2: has over 1,048,576 bytes; "),
    ],
)
def test_wrong_files_are_named(tmp_path, read, data, fault):
    path = tmp_path / "a"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"{path}{fault}")


def test_sha256_is_of_all_files_in_order(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    expected = "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"  # printf ab | sha256sum
    assert files.sha256(tmp_path / "a", tmp_path / "b") == expected
