"""Which folder a training keeps its states in, and what else must be the same for it to resume."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.training.resuming import folders_of, made_by, state_folder

INPUTS = [Path("train"), Path("references.txt")]


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """A working directory with files to depend on."""
    (tmp_path / "train/below").mkdir(parents=True)
    for name in ("train/ids", "train/below/more", "references.txt"):
        (tmp_path / name).write_text(f"content of {name}\n")
    monkeypatch.chdir(tmp_path)


def test_parameters_and_files_name_the_folder(inputs):
    folders = [state_folder("toy", {"updates": 3}, INPUTS), state_folder("toy", {"updates": 4}, INPUTS)]
    for name in ("train/below/more", "references.txt"):
        Path(name).write_text("changed")
        folders.append(state_folder("toy", {"updates": 3}, INPUTS))
    Path("references.txt").rename("train/references.txt")
    folders.append(state_folder("toy", {"updates": 3}, INPUTS))
    assert len(set(folders)) == 5
    assert folders[4] == state_folder("toy", {"updates": 3}, INPUTS)
    assert folders[0].parent == Path("work/train")


def test_code_that_is_loaded_counts_but_for_what_shapes_no_result(tmp_path, monkeypatch):
    source, made = tmp_path / "invented.py", []
    for name, text in (("layers", "a = 1"), ("layers", "a = 2"), ("tracking", ""), ("tracking", "a = 3")):
        source.write_text(text)
        module = ModuleType("__main__")  # as `python -m` calls it; its spec has the true name
        module.__spec__ = ModuleSpec(f"pipeline.{name}.invented", None, origin=str(source))
        monkeypatch.setitem(sys.modules, "__main__", module)
        made.append(made_by("cpu", "fp32"))
    assert made[0] != made[1] != made[2] == made[3]
    assert list(made[0]) == ["code", "numpy", "torch", "device", "precision"]


def test_the_folder_of_a_finished_training_is_known_by_its_summary(inputs):
    for name, updates in (("toy-1-a", 3), ("toy-1-b", 4), ("toy-2-a", 3)):
        Path("work/train", name).mkdir(parents=True)
        Path("work/train", name, "training.json").write_text(f"{updates}")
    Path("training.json").write_text("3")
    assert list(folders_of(Path("training.json"), "toy-1")) == [Path("work/train/toy-1-a")]
