"""What holds of every stage: again it gives the same bytes; a missing input is named, and old outputs stay."""

from importlib import import_module
from pathlib import Path

import pytest

from pipeline.console import cli
from pipeline.tracking.store import store
from tests.stages.conftest import copy_files
from tests.toys.project import SYSTEMS

SYSTEM = SYSTEMS[1]
STAGES = {  # an input of each stage, and the stage that makes it
    "clean": ("data/download/toy/train/train/00000.source.txt", "download"),
    "split": ("data/clean/toy/train/train/00000.source.txt", "clean"),
    "vocabulary": ("data/split/toy/train/train/00000.source.txt", "split"),
    "encode": ("data/vocabulary/toy-bpe/joint.model", "vocabulary"),
    "train": ("data/encode/toy-bpe/train/train/00000.source.ids.npy", "encode"),
    "average": (f"runs/{SYSTEM}/train/checkpoints/checkpoints.json", "train"),
    "decode": (f"runs/{SYSTEM}/average/model.safetensors", "average"),
    "score": (f"data/decode/{SYSTEM}/test.txt", "decode"),
    "attend": (f"runs/{SYSTEM}/average/model.safetensors", "average"),
    "package": (f"data/score/{SYSTEM}/scores.json", "score"),
    "report": (f"metrics/{SYSTEM}.json", "score"),
}


def arguments(stage):
    """What the stage is called with: a corpus, a corpus and a vocabulary, a system or nothing."""
    short = {"download": "toy", "clean": "toy", "split": "toy", "vocabulary": "toy-bpe", "encode": "toy-bpe"}
    return () if stage == "report" else (short.get(stage, SYSTEM),)


def run(stage):
    import_module(f"stages.{stage}").main(*arguments(stage))


@pytest.fixture(scope="module")
def shared(built, tmp_path_factory):
    return copy_files(built, tmp_path_factory.mktemp("stages"))


@pytest.fixture
def outputs(shared, stage, monkeypatch, set_threads):
    """Reads the bytes of each file that the stage has written, by DVC's lock, in a project that every test restores."""
    monkeypatch.chdir(shared.root)
    monkeypatch.setattr(store, "is_off", True)
    outs = shared.lock()["@".join((stage, *arguments(stage)))]["outs"]

    def read():
        paths = [path for out in outs for path in (Path(out["path"]), *Path(out["path"]).rglob("*"))]
        return {path: path.read_bytes() for path in paths if path.is_file()}

    return read


@pytest.mark.parametrize("stage", ["download", *STAGES])
def test_again_gives_the_same_bytes(outputs, stage):
    before = outputs()
    assert before
    run(stage)
    assert outputs() == before


@pytest.mark.parametrize("stage", STAGES)
def test_a_missing_input_is_named_with_the_stage_that_makes_it(outputs, stage, tmp_path):
    path, maker = STAGES[stage]
    before = outputs()
    moved = Path(path).rename(tmp_path / "moved")
    with pytest.raises((ValueError, OSError)) as error:
        run(stage)
    moved.rename(path)
    message = cli.mistake(error.value)
    assert message, error.value
    assert Path(path).parent.as_posix() in message
    assert maker in message or "an earlier stage" in message
    assert outputs() == before
