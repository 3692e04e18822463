"""What a training needs before its first update; tests/stages/test_train.py runs the whole of it."""

import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
import torch

from pipeline.common import files
from pipeline.common.system import System
from pipeline.models import interface
from pipeline.training import setup
from pipeline.training.mixture import Mixing
from pipeline.training.ranks import Ranks
from pipeline.training.resuming import drop_finished, made_by
from tests.toys import networks, samples

CPU = torch.device("cpu")


def config(model="transformer_modern", mixture={}, **changed):  # noqa: B006
    """A training of a toy model, some keys of `training` changed."""
    module = interface.find(model)
    arch = module.Arch.model_validate(networks.arch(model))
    system = System("toy", "joint", model, "tiny", 1)
    mixing = Mixing(mixture=mixture)
    return setup.TrainingConfig(system, samples.training(**changed), arch, samples.learning(), mixing, module.Model)


@pytest.mark.parametrize(
    ("model", "device", "chosen", "expected"),
    [
        ("transformer_modern", "cuda", True, True),
        ("transformer_modern", "cuda", False, False),
        ("transformer_modern", "cpu", True, False),
        ("rnnsearch", "cuda", True, False),
    ],
)
def test_only_transformers_on_a_gpu_replay_what_it_computes(model, device, chosen, expected):
    assert config(model, cuda_graphs=chosen).has_graphs(torch.device(device)) is expected


def test_parameters_system_and_inputs_name_the_folder_of_states(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(setup, "resolve_precision", lambda given, device: given)
    first = config()
    system = first.system
    encoded = system.encoded / "train/checksums.json", system.encoded / "validation/b.npy"
    read = [*encoded, system.vocabulary_folder / "c.model"]
    for path in (*read, system.split / "validation.target.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before", encoding="utf-8")

    def folder(config=first):
        return setup.open_checkpoints(config, CPU, Ranks()).folder

    before = folder()
    assert before == folder()
    assert before.parent == Path("work/train")
    assert folder(config(patience=5, updates=99)) == before  # a longer training goes on from its states
    assert folder(config(max_length=9)) != before
    assert folder(first._replace(arch=first.arch.changed(dropout=0.3))) != before
    assert folder(first._replace(learning=samples.learning(clip=0.5))) != before
    assert folder(first._replace(system=system._replace(seed=2))) != before
    assert folder(config(mixture={"train": 0.5})) != before
    for path in (*read, system.split / "validation.target.txt"):
        path.write_text("after", encoding="utf-8")
        assert folder() != before, path
        path.write_text("before", encoding="utf-8")


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


def test_a_training_that_finished_for_long_leaves_what_a_longer_one_needs(tmp_path, monkeypatch):
    """And only that of runs/; others, which may be running or have just finished, are left alone."""
    monkeypatch.chdir(tmp_path)
    summaries = {name: Path("work/train", name, "training.json") for name in ("s-1-a", "s-1-b", "s-2-a", "s-2-b")}
    for name in (*summaries, "s-1-c"):
        files.write_lines(Path("work/train", name, "update_1"), [])
        files.write_lines(Path("work/train", name, "open/state"), [])
    for name, summary in summaries.items():
        files.write_lines(summary, [name])
        os.utime(summary, (0, 0) if name != "s-2-b" else None)
    files.write_lines(Path("runs/s-1/train/training.json"), ["s-1-a"])
    drop_finished(own=Path("work/train/s-2-a"))
    untouched = [f"{name}/{file}" for name in ("s-1-c", "s-2-a", "s-2-b") for file in ("update_1", "open/state")]
    left = {path.relative_to("work/train").as_posix() for path in Path("work/train").rglob("*") if path.is_file()}
    summaries_left = {f"{name}/training.json" for name in ("s-1-a", "s-2-b")}
    assert left == {*untouched, *summaries_left, "s-1-a/open/state"}
