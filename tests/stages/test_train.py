"""`python -m stages.train <system>` on a readable corpus: its outputs, killed and repeated, edited, wrong."""

import shutil
import signal

import pytest

from pipeline import files
from tests.toys.trainings import SYSTEM, edit, finish, outs, start, stop, write_inputs

CONFIG = "configs/transformer_prenorm.yaml"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs")
    write_inputs(root)
    return root


@pytest.fixture(scope="module")
def finished(tmp_path_factory, inputs):
    """A folder where the stage ran to its end at once, and what it said."""
    root = tmp_path_factory.mktemp("finished")
    shutil.copytree(inputs, root, dirs_exist_ok=True)
    return root, finish(root)


@pytest.fixture(scope="module")
def killed(tmp_path_factory, inputs):
    """A folder where the stage was killed (-9) as soon as there was a state to go on from."""
    root = tmp_path_factory.mktemp("killed")
    shutil.copytree(inputs, root, dirs_exist_ok=True)
    assert stop(root, by=signal.SIGKILL)[0] == -signal.SIGKILL
    assert not (root / "runs").exists()
    return root


def test_outputs(finished):
    root, said = finished
    out = root / "runs" / SYSTEM / "train"
    kept = files.read_json(out / "checkpoints/checkpoints.json")
    assert kept["last"] == ["update_00000020.safetensors", "update_00000024.safetensors"]
    assert {path.name for path in out.glob("checkpoints/*.safetensors")} == {*kept["last"], *kept["best"]}
    rows = files.read_table(out / "curves.csv")
    assert [int(row["update"]) for row in rows] == [8, 16, 24]
    assert float(rows[0]["learning_rate"]) == 8e-3
    losses = [float(row["validation_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert len(files.read_table(out / "train_loss.csv")) == 24  # so short a training has a point for each update
    lines = [line for line in said.splitlines() if line.startswith("transformer_prenorm-tiny-1  ")]
    assert sum("  update " in line for line in lines) == 3
    assert "target tokens/s without padding, peak memory" in lines[-1]
    assert max(map(len, lines)) <= 100


def test_summary_holds_no_code_no_version_and_no_time(finished):
    summary = files.read_json(finished[0] / "runs" / SYSTEM / "train/training.json")
    params, best = summary.pop("params"), summary.pop("best")
    assert len(summary.pop("vocabulary")) == 64
    assert 0 < summary.pop("padding_share") < 0.3
    assert summary.pop("num_parameters") > 1000
    assert summary == {"updates": 24, "stopped": "updates", "precision": "fp32", "pairs": 40, "pairs_used": 40}
    assert (params["learning.schedule.peak_rate"], params["arch.width"], params["training.updates"]) == (1e-2, 16, 24)
    assert best["update"] == 24


def test_killed_and_repeated_is_uninterrupted(tmp_path, finished, killed):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    assert f"{SYSTEM}  resuming at update " in finish(tmp_path)
    assert outs(tmp_path) == outs(finished[0])


def test_outputs_that_dvc_has_removed_are_there_again_at_once(tmp_path, finished):
    """DVC was killed before it had noted the outputs of a finished training."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "runs")
    said = finish(tmp_path)
    assert f"{SYSTEM}  is trained already" in said
    assert "target tokens/s" not in said
    assert outs(tmp_path) == outs(finished[0])


def test_another_seed_is_another_draw(tmp_path, inputs, finished):
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    other = f"{SYSTEM[:-1]}2"
    finish(tmp_path, other)
    last = "checkpoints/update_00000024.safetensors"
    assert outs(tmp_path, other)[last] != outs(finished[0])[last]


def test_edited_it_starts_afresh_and_stops_when_patience_runs_out(tmp_path, killed):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "patience: 0", "patience: 1")
    edit(tmp_path, "peak_rate: 1e-2", "peak_rate: 1e-30", CONFIG)  # which leaves the weights where they were
    assert "resuming" not in finish(tmp_path)
    summary = files.read_json(tmp_path / "runs" / SYSTEM / "train/training.json")
    assert (summary["updates"], summary["stopped"], summary["best"]["update"]) == (16, "patience", 8)


def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, inputs):
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "heads: 2", "heads: 3", CONFIG)
    process = start(tmp_path)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (1, f"error: {CONFIG}: tiny.heads: must divide width 16, got 3\n")
    assert not (tmp_path / "runs").exists()
