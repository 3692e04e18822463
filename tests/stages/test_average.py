"""`python -m stages.average <corpus> <vocabulary> <model> <size>` on three small checkpoints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline import files
from pipeline.training import checkpoint_file

SYSTEM = "toy-joint-transformer_prenorm-tiny"
STATES = [Path("work/train", f"{SYSTEM}-{key * 16}") for key in "01"]  # of this training and of another
NAMES = [f"update_{update:08d}.safetensors" for update in (2, 4, 6)]


@pytest.fixture
def project(tmp_path):
    """What training left: the last three checkpoints, of which the first was the best, and a summary."""
    train = tmp_path / "runs" / SYSTEM / "train"
    (train / "checkpoints").mkdir(parents=True)
    for value, name in zip((1.0, 2.0, 6.0), NAMES, strict=True):
        checkpoint_file.write(
            train / "checkpoints" / name, {"weight": torch.full((2, 2), value), "bias": torch.zeros(1)}, {}
        )
    files.write_json(train / "checkpoints/checkpoints.json", {"last": NAMES, "best": NAMES[:1]})
    files.write_json(train / "training.json", {"updates": 6})
    for folder, updates in zip(STATES, (6, 8), strict=True):
        files.write_json(tmp_path / folder / "training.json", {"updates": updates})
    return tmp_path


@pytest.fixture
def run(project, project_root):
    """Run the stage there, to average so many checkpoints; nothing can be tracked."""

    def run_there(checkpoints):
        (project / "params.yaml").write_text(
            f"average: {{tiny: {{checkpoints: {checkpoints}}}, big: {{checkpoints: 1}}}}\n"
        )
        uri = "sqlite:////dev/null/mlflow.db"
        environment = os.environ | {"PYTHONPATH": str(project_root), "MLFLOW_TRACKING_URI": uri}
        command = [sys.executable, "-m", "stages.average", "toy", "joint", "transformer_prenorm", "tiny"]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)

    return run_there


@pytest.mark.parametrize(("checkpoints", "mean"), [(2, 4.0), (9, 3.0)])
def test_the_last_are_averaged(project, run, checkpoints, mean):
    done = run(checkpoints)
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["tracking"]  # the store is dead, said once
    out = project / "runs" / SYSTEM / "average"
    assert sorted(path.name for path in out.iterdir()) == ["average.json", "model.safetensors"]
    average = load_file(out / "model.safetensors")
    assert {name: weight.unique().tolist() for name, weight in average.items()} == {"weight": [mean], "bias": [0.0]}
    assert files.read_json(out / "average.json") == {"checkpoints": NAMES[-checkpoints:]}
    assert [(project / folder).exists() for folder in STATES] == [False, True]


def test_checkpoints_that_differ_are_one_line_and_leave_nothing(project, run):
    folder = f"runs/{SYSTEM}/train/checkpoints"
    checkpoint_file.write(project / folder / NAMES[2], {"weight": torch.zeros(3)}, {})
    done = run(2)
    what = f"weights differ in name or shape from {folder}/{NAMES[1]}; expected the same model"
    assert (done.returncode, done.stderr) == (1, f"error: {folder}/{NAMES[2]}: {what}\n")
    assert not (project / "runs" / SYSTEM / "average").exists()
    assert all((project / folder).exists() for folder in STATES)


def test_a_checkpoint_that_is_cut_short_is_one_line(project, run):
    path = f"runs/{SYSTEM}/train/checkpoints/{NAMES[2]}"
    (project / path).write_bytes((project / path).read_bytes()[:-1])
    done = run(2)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path}: broken (")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("how", ["another weight", "no checksum", "not finite"])
def test_a_checkpoint_that_is_not_what_training_wrote_is_one_line(project, run, how):
    path = f"runs/{SYSTEM}/train/checkpoints/{NAMES[2]}"
    weights = {"weight": torch.full((2, 2), 6.0), "bias": torch.zeros(1)}
    said = "broken (its checksum does not match); expected weights that training wrote"
    if how == "another weight":
        data = (project / path).read_bytes()
        (project / path).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif how == "no checksum":
        save_file(weights, project / path)
    else:
        checkpoint_file.write(project / path, weights | {"bias": torch.tensor([float("nan")])}, {})
        said = "bias holds a number that is not finite; expected weights that training wrote"
    done = run(2)
    assert (done.returncode, done.stderr) == (1, f"error: {path}: {said}\n")
