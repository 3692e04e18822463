"""`--out` makes a new folder or replaces one of the same command, and touches nothing else."""

import os
from pathlib import Path

import pytest

from pipeline.commands import out
from pipeline.files import DataError


def make(path: Path | None, command: str = "export") -> Path:
    """Have a command make a folder of one file."""
    with out.new_folder(path, Path("work/export"), command) as (folder, named):
        (folder / "model.bin").write_text("model")
    return named


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A project with files of its own and of others."""
    (tmp_path / "project/mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    for name in ("params.yaml", "mine/letter.txt"):
        Path(name).write_text("dear")


@pytest.mark.parametrize("path", [Path("a/b"), Path("empty"), None])
def test_a_new_folder_and_the_same_again(path):
    Path("empty").mkdir()
    for _ in range(2):
        named = make(path)
        assert named == (path or Path("work/export"))
        assert sorted(os.listdir(named)) == [".nmt.json", "model.bin"]
        assert not list(named.parent.glob(".*partial"))


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/", "is the folder that nmt runs in, or one above it"),
        (".", "is the folder that nmt runs in, or one above it"),
        ("..", "is the folder that nmt runs in, or one above it"),
        ("mine/..", "is the folder that nmt runs in, or one above it"),
        ("params.yaml", "is a file, or under one"),
        ("params.yaml/new", "is a file, or under one"),
        ("nowhere", "is a file, or under one"),
        ("mine", "holds other files"),
        ("link", "holds other files"),
        ("/dev/null", "is a file, or under one"),
    ],
)
def test_what_is_not_ours_is_refused(path, what):
    Path("nowhere").symlink_to("gone")
    Path("link").symlink_to("mine")
    before = sorted(Path().rglob("*"))
    with pytest.raises(DataError) as caught:
        make(Path(path))
    said = f"--out: {what}, got {path!r}; expected a new folder, or one that `nmt export` wrote"
    assert str(caught.value) == said
    assert sorted(Path().rglob("*")) == before
    assert Path("mine/letter.txt").read_text() == "dear"


@pytest.mark.parametrize("mark", ["", "{}", "[]", '{"command": "export", "files": 3}'])
def test_a_folder_with_another_mark_is_refused(mark):
    make(Path("a"))
    Path("a/.nmt.json").write_text(mark)
    with pytest.raises(DataError, match=r"^--out: holds other files, got 'a'"):
        make(Path("a"))


def test_a_folder_of_another_command_or_with_more_is_refused():
    make(Path("a"))
    with pytest.raises(DataError, match=r"expected a new folder, or one that `nmt attention` wrote$"):
        make(Path("a"), "attention")
    Path("a/note.txt").touch()
    with pytest.raises(DataError, match=r"^--out: holds other files"):
        make(Path("a"))
    assert Path("a/note.txt").exists()


def fail(path):
    with out.new_folder(path, path, "export") as (folder, _):
        (folder / "model.bin").touch()
        raise KeyboardInterrupt


def test_what_fails_leaves_nothing():
    before = sorted(Path().rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        fail(Path("a/b/c"))
    assert sorted(Path().rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_may_not_be_written_is_left_alone():
    Path("mine").chmod(0o500)
    with pytest.raises(PermissionError):
        make(Path("mine/new"))
    Path("mine").chmod(0o700)
    assert os.listdir("mine") == ["letter.txt"]
