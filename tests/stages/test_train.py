"""`python -m stages.train <corpus> <vocabulary> <model> <size> [<seed>]` on a readable corpus, killed and repeated."""

import csv
import shutil
import signal
import subprocess
import sys

import pytest
from safetensors.torch import load_file

from pipeline import files
from tests.toys.trainings import SYSTEM, edit, end, environment, finish, lay_out, logged, outs, rows_of, start

COLUMNS = [
    "update",
    "train_loss",
    "learning_rate",
    "grad_norm",
    "validation_loss",
    "validation_perplexity",
    "validation_accuracy",
    "validation_bleu",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with params.yaml and what the stages before left."""
    root = tmp_path_factory.mktemp("prepared")
    lay_out(root)
    return root


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, prepared):
    """A folder where the stage ran to its end at once, and what it said."""
    root = tmp_path_factory.mktemp("uninterrupted")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    return root, finish(root)


@pytest.fixture(scope="module")
def killed(tmp_path_factory, prepared):
    """A folder where the stage was killed (-9) as soon as there was a state to go on from."""
    root = tmp_path_factory.mktemp("killed")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    assert end(root, by=signal.SIGKILL)[0] == -signal.SIGKILL
    assert not (root / "runs").exists()
    return root


def test_outs(uninterrupted):
    root, _ = uninterrupted
    found = outs(root)
    names = {f"checkpoints/update_{update:08d}.safetensors" for update in (20, 24)}
    assert {"checkpoints/checkpoints.json", "curves.csv", "train_loss.csv", "training.json", *names} <= set(found)
    kept = files.read_json(root / "runs" / SYSTEM / "train/checkpoints/checkpoints.json")
    assert kept["last"] == ["update_00000020.safetensors", "update_00000024.safetensors"]
    assert len(kept["best"]) == 1
    assert {name for name in found if name.endswith("tensors")} == {
        f"checkpoints/{n}" for ns in kept.values() for n in ns
    }


def test_curves(uninterrupted):
    with (uninterrupted[0] / "runs" / SYSTEM / "train/curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert [int(row["update"]) for row in rows] == [8, 16, 24]
    assert [float(row["learning_rate"]) for row in rows[:1]] == [8e-3]
    losses = [float(row["validation_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    assert all(0 <= float(row["validation_bleu"]) <= 100 for row in rows)


def test_the_curve_of_the_loss_is_the_mean_of_the_logged_losses(uninterrupted):
    """So short a training has a point for each update."""
    root, _ = uninterrupted
    found = files.read_table(root / "runs" / SYSTEM / "train/train_loss.csv")
    losses = [row["train_loss"] for row in logged(root) if "train_loss" in row]
    assert [(int(row["update"]), float(row["train_loss"])) for row in found] == list(enumerate(losses, 1))


def test_summary(uninterrupted):
    root, _ = uninterrupted
    out = root / "runs" / SYSTEM / "train"
    summary = files.read_json(out / "training.json")
    assert list(summary) == [
        "vocabulary",
        "updates",
        "stopped",
        "best",
        "precision",
        "padding_share",
        "num_parameters",
        "pairs",
        "pairs_used",
        "params",
    ]
    weights = load_file(out / "checkpoints/update_00000024.safetensors")
    assert summary["num_parameters"] == sum(weight.numel() for weight in weights.values())
    assert (summary["updates"], summary["stopped"], summary["pairs"], summary["pairs_used"]) == (24, "updates", 40, 40)
    assert list(summary["best"]) == COLUMNS
    assert summary["best"]["update"] == 24
    assert 0 < summary["padding_share"] < 0.3
    assert summary["params"]["learning.schedule.peak_rate"] == 1e-2
    assert summary["params"]["arch.width"] == 16
    assert summary["params"]["training.updates"] == 24


def test_a_further_seed_is_another_draw_of_the_same_training(tmp_path, prepared, uninterrupted):
    """With seed 1 it gives the weights of the first training, under another name."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    names = ["toy", "joint", "transformer_prenorm", "tiny"]
    first = uninterrupted[0] / "runs" / SYSTEM / "train"
    weights, summaries = {}, {}
    for seed in ("1", "2"):
        process = start(tmp_path, *names, seed)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        assert f"transformer_prenorm-tiny-{seed}  update " in said
        folder = tmp_path / "runs" / f"{SYSTEM}-{seed}" / "train"
        weights[seed] = (folder / "checkpoints/update_00000024.safetensors").read_bytes()
        summaries[seed] = files.read_json(folder / "training.json")
    assert weights["1"] == (first / "checkpoints/update_00000024.safetensors").read_bytes() != weights["2"]
    before = files.read_json(first / "training.json")["params"]
    assert summaries["1"]["params"] == before
    assert summaries["2"]["params"] == before | {"training.seed": 2}
    assert not (tmp_path / "runs" / SYSTEM).exists()


def test_what_is_said(uninterrupted):
    root, said = uninterrupted
    lines = said.splitlines()
    assert sum(line.startswith("tracking: ") for line in lines) == 1  # the store is dead, said once
    shown = [line for line in lines if line.startswith("transformer_prenorm-tiny  ")]
    assert sum("  update " in line for line in shown) == 3
    assert max(map(len, shown)) <= 100
    assert any("target tokens/s without padding, peak memory" in line for line in lines)
    assert sum("train_loss" in row for row in logged(root)) == 24
    assert sum("validation_bleu" in row for row in logged(root)) == 3


def test_killed_and_repeated_is_uninterrupted(tmp_path, uninterrupted, killed):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    said = finish(tmp_path)
    assert f"{SYSTEM}: resuming at update " in said
    assert outs(tmp_path) == outs(uninterrupted[0])
    assert sum("train_loss" in row for row in logged(tmp_path)) == 24  # none doubled, none lost


def test_weights_start_once(tmp_path, prepared):
    """A training that resumes takes them from its checkpoint, and does not start them first."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    for start_weights in ("setup.start_weights", "None"):
        code = f"import sys; from pipeline.training import setup; setup.start_weights = {start_weights}"
        command = [sys.executable, "-c", f"{code}; from stages import train; train.main(*sys.argv[1:])"]
        subprocess.run([*command, *SYSTEM.split("-")], cwd=tmp_path, env=environment(), check=True, timeout=300)
        shutil.rmtree(tmp_path / "runs")


@pytest.fixture(scope="module")
def out_of_patience(tmp_path_factory, prepared):
    """A folder where the stage ended because validations brought nothing, and what it said."""
    root = tmp_path_factory.mktemp("out_of_patience")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    edit(root, "patience: 0", "patience: 1")
    edit(root, "peak_rate: 1e-2", "peak_rate: 1e-30")  # which leaves the weights where they were
    return root, finish(root)


@pytest.mark.parametrize("ended", ["uninterrupted", pytest.param("out_of_patience", marks=pytest.mark.slow)])
def test_what_dvc_was_killed_over_is_there_again_at_once(tmp_path, ended, request):
    """DVC had not noted the outputs of a training that was over, and has removed them."""
    root, _ = request.getfixturevalue(ended)
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "runs")
    said = finish(tmp_path)
    assert f"{SYSTEM}: training is already finished" in said
    assert "target tokens/s" not in said
    assert outs(tmp_path) == outs(root)


def test_a_state_is_saved_when_minutes_have_passed(tmp_path, prepared, uninterrupted):
    """Though no checkpoint is due before the end; killed then, it goes on from there."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "validation_interval: 8", "validation_interval: 24")
    edit(tmp_path, "checkpoint_interval: 4", "checkpoint_interval: 24")
    assert end(tmp_path, by=signal.SIGKILL, CHECKPOINT_MINUTES="0.00001")[0] == -signal.SIGKILL
    said = finish(tmp_path)
    assert f"{SYSTEM}: resuming at update " in said
    last = "checkpoints/update_00000024.safetensors"
    assert outs(tmp_path)[last] == outs(uninterrupted[0])[last]


def test_a_state_cut_in_half_is_said_and_passed_over(tmp_path, uninterrupted, killed):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    [folder] = (tmp_path / "work/train").iterdir()
    state, previous = folder / "state.safetensors", folder / "previous.safetensors"
    shutil.copyfile(state if state.exists() else previous, previous.with_name("whole"))
    previous.with_name("whole").replace(previous)
    state.write_bytes(previous.read_bytes()[: previous.stat().st_size // 2])
    said = finish(tmp_path)
    assert f"warning: {state.relative_to(tmp_path)}: broken (" in said
    assert "resuming at update " in said
    assert outs(tmp_path) == outs(uninterrupted[0])


def test_how_often_it_validates_changes_no_weight(tmp_path, prepared, uninterrupted):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "validation_interval: 8", "validation_interval: 4")
    finish(tmp_path)
    found, before = outs(tmp_path), outs(uninterrupted[0])
    last = [f"checkpoints/update_{update:08d}.safetensors" for update in (20, 24)]
    assert [found[name] for name in (*last, "train_loss.csv")] == [before[name] for name in (*last, "train_loss.csv")]
    assert found["curves.csv"].count(b"\n") == 1 + 6


def test_edited_it_starts_afresh_and_stops_where_validations_bring_nothing(tmp_path, killed):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "patience: 0", "patience: 1")
    edit(tmp_path, "peak_rate: 1e-2", "peak_rate: 1e-30")  # which leaves the weights where they were
    said = finish(tmp_path)
    assert f"{SYSTEM}: resuming at update " not in said
    summary = files.read_json(tmp_path / "runs" / SYSTEM / "train/training.json")
    assert (summary["updates"], summary["stopped"], summary["best"]["update"]) == (16, "patience", 8)


@pytest.mark.slow
def test_of_two_trainings_each_keeps_its_log(tmp_path, uninterrupted, killed):
    """One is killed, another one begins after an edit, the edit is taken back."""
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "updates: 24", "updates: 8")
    finish(tmp_path)
    edit(tmp_path, "updates: 8", "updates: 24")
    shutil.rmtree(tmp_path / "runs")
    assert f"{SYSTEM}: resuming at update " in finish(tmp_path)
    assert outs(tmp_path) == outs(uninterrupted[0])
    logs = sorted((tmp_path / "work/logs" / SYSTEM).glob("train-*.jsonl"), key=lambda path: path.stat().st_mtime)
    steps = [[row["step"] for row in rows_of(log) if "train_loss" in row] for log in logs]
    assert steps == [list(range(1, 9)), list(range(1, 25))]


def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "heads: 2", "heads: 3")
    process = start(tmp_path)
    _, said = process.communicate(timeout=300)
    section = "models.transformer_prenorm.tiny"
    assert (process.returncode, said) == (1, f"error: params.yaml: {section}.heads: must divide width 16, got 3\n")
    assert not (tmp_path / "runs").exists()
