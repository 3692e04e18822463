"""The fingerprint changes exactly when something does that a training depends on."""

import shutil
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

import pipeline.tracking  # noqa: F401 (loaded, and still of no account)
from pipeline.fingerprint import TRACKING, code, fingerprint, versions
from tests.toys.samples import learning, training

SECTIONS = (training(), learning())
FOLDERS = [Path("train"), Path("vocabulary"), Path("references.txt")]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A working directory with files to depend on."""
    folder = tmp_path / "first"
    (folder / "train/below").mkdir(parents=True)
    (folder / "vocabulary").mkdir()
    for name in ("train/ids", "train/below/more", "vocabulary/joint.model", "references.txt", "unrelated.txt"):
        (folder / name).write_text(f"content of {name}\n")
    monkeypatch.chdir(folder)
    return folder


def current(*, sections=SECTIONS, names=("system",)):
    return fingerprint(FOLDERS, sections, *names)


def test_the_same_again(work):
    assert current() == current()
    assert len(current()) == 64
    (work / "unrelated.txt").write_text("changed")
    (work / "train/empty").mkdir()
    (work / "train/ids").touch()
    assert current() == current(sections=(training(), learning()))


def test_the_same_in_another_folder(work, monkeypatch):
    here = current()
    shutil.copytree(work, work.parent / "a copy elsewhere")
    monkeypatch.chdir(work.parent / "a copy elsewhere")
    assert current() == here


@pytest.mark.parametrize("name", ["train/ids", "train/below/more", "vocabulary/joint.model", "references.txt"])
def test_every_file_counts(work, name):
    seen = [current()]
    (work / name).write_text("content of another\n")
    seen.append(current())
    (work / name).unlink()
    seen.append(current())
    if name != "references.txt":
        (work / name).with_name("renamed").write_text("content of another\n")
        seen.append(current())
    assert len(set(seen)) == len(seen)


def test_sections_and_names_count(work):
    seen = [
        current(),
        current(sections=(training(seed=2), learning())),
        current(sections=(training(), learning(clip=2.0))),
        current(sections=(training(),)),
        current(names=("another",)),
        current(names=("system", "more")),
        current(names=()),
    ]
    assert len(set(seen)) == len(seen)


def test_the_versions_of_the_arithmetic_count(work, monkeypatch):
    import numpy
    import torch

    assert set(versions()) == {f"numpy {numpy.__version__}", f"torch {torch.__version__}"}
    before = current()
    monkeypatch.setattr(torch, "__version__", "99.0")
    assert current() != before


def test_the_code_that_is_loaded_counts(work, monkeypatch):
    source = work / "invented.py"
    source.write_text("a = 1\n")
    before = current()
    module = ModuleType("pipeline.invented")
    module.__spec__ = ModuleSpec("pipeline.invented", None, origin=str(source))
    monkeypatch.setitem(sys.modules, "pipeline.invented", module)
    loaded = current()
    source.write_text("a = 2\n")
    edited = current()
    assert len({before, loaded, edited}) == 3


def test_which_code_that_is(project_root):
    found = dict(code())
    assert {"pipeline.fingerprint", "pipeline.training.learning", "pipeline.encoding.budget"} <= set(found)
    neutral = "cli", "progress", *TRACKING
    assert not {f"pipeline.{name}" for name in neutral} & set(found)
    assert all(name.split(".")[0] in ("pipeline", "stages") for name in found)
    assert found["pipeline.fingerprint"].samefile(project_root / "pipeline/fingerprint.py")


def test_a_script_run_with_m_counts_by_its_name(work, monkeypatch):
    """`python -m stages.train` is `__main__` in sys.modules; its spec has the true name."""
    script = work / "script.py"
    script.write_text("")
    module = ModuleType("__main__")
    module.__spec__ = ModuleSpec("stages.invented", None, origin=str(script))
    monkeypatch.setitem(sys.modules, "__main__", module)
    assert ("stages.invented", script) in code()
