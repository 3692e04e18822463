"""Stages train and average: outputs; trained already, with another seed, out of patience, with a mistake."""

import os
import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.common import files
from pipeline.training import resuming
from pipeline.training.loop import DivergedError
from stages import train
from tests.toys.project import SYSTEMS

SYSTEM = SYSTEMS[1]
OUT, CONFIG = Path("runs", SYSTEM, "train"), "configs/transformer_prenorm.yaml"
SCHEDULES = {
    "constant": {"kind": "constant", "learning_rate": 0.01},
    "noam": {"kind": "noam", "factor": 1.0, "warmup": 4},
    "wsd": {"kind": "wsd", "peak_rate": 0.01, "warmup": 2, "decay": 3},
    "linear": {"kind": "linear", "peak_rate": 0.01, "warmup": 4},
    "flat": {"kind": "linear", "peak_rate": 1e-30, "warmup": 99},  # learns nothing
}
pytestmark = pytest.mark.usefixtures("project", "set_threads")


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_outputs_hold_no_code_no_version_and_no_time():
    kept = files.read_json(OUT / "checkpoints/checkpoints.json")
    assert kept["last"] == ["update_00000004.safetensors", "update_00000006.safetensors"]
    assert {path.name for path in OUT.glob("checkpoints/*.safetensors")} == {*kept["last"], *kept["best"]}
    rows = files.read_table(OUT / "curves.csv")
    assert [int(row["update"]) for row in rows] == [4, 6]
    assert len(files.read_table(OUT / "train_loss.csv")) == 6  # so short a training has a point for each update
    summary = files.read_json(OUT / "training.json")
    assert set(summary) == {
        *("updates", "stopped", "precision", "pairs", "pairs_used", "padding_share", "num_parameters", "mixture"),
        *("params", "best", "vocabulary"),
    }
    losses = {int(row["update"]): float(row["validation_loss"]) for row in rows}
    assert summary["best"]["update"] == min(losses, key=losses.get)
    assert (summary["updates"], summary["stopped"]) == (6, "updates")
    assert (summary["params"]["training"]["updates"], summary["params"]["arch"]["width"]) == (6, 16)


def test_outputs_that_dvc_has_removed_are_there_again_at_once(capsys):
    """DVC was killed before it had noted the outputs of a finished training."""
    before = contents(OUT)
    train.main(SYSTEM)
    assert "target tokens/s" in capsys.readouterr().err
    shutil.rmtree(OUT)
    train.main(SYSTEM)
    said = capsys.readouterr().err
    assert f"{SYSTEM}  is trained already" in said
    assert "target tokens/s" not in said
    assert contents(OUT) == before


def test_another_seed_is_another_draw():
    other = f"{SYSTEM[:-1]}2"
    train.main(other)
    last = "checkpoints/update_00000006.safetensors"
    assert (Path("runs", other, "train") / last).read_bytes() != (OUT / last).read_bytes()


def test_it_stops_when_patience_runs_out(project):
    project.edit("training.patience", 1)
    project.edit("training.updates", 40)
    project.edit(f"{CONFIG}:toy.schedule", SCHEDULES["flat"])
    train.main(SYSTEM)
    summary = files.read_json(OUT / "training.json")
    assert (summary["updates"], summary["stopped"], summary["best"]["update"]) == (8, "patience", 4)


@pytest.mark.parametrize(
    ("schedule", "before", "after", "said"),
    [
        ("constant", {"updates": 8}, {"updates": 16}, "goes on from update 8"),
        ("noam", {"updates": 7}, {"updates": 13}, "goes on from update 7"),  # validates at 4, 8, 12 and 13, not at 7
        ("wsd", {"updates": 8}, {"updates": 16}, "goes on from update 5"),
        ("noam", {"updates": 16}, {"updates": 8}, "starts anew: training.updates 16 -> 8; 16 updates stay behind in "),
        (
            "linear",
            {"updates": 8},
            {"updates": 16},
            "training.updates 8 -> 16; 8 updates stay behind in .*; with `wsd`, `constant`, `noam`",
        ),
        ("flat", {"updates": 30, "patience": 1}, {"updates": 30, "patience": 3}, "goes on from update 8"),
        (
            "flat",
            {"updates": 30, "patience": 3},
            {"updates": 30, "patience": 1},
            "starts anew: training.patience 3 -> 1; 16 updates stay behind in work/train/[^;]*$",
        ),
    ],
)
def test_a_longer_training_gives_the_bytes_it_gives_from_the_start(project, capsys, schedule, before, after, said):
    """Also from what is left of its states once the training has finished for long."""

    def built(training):
        page = project.path("training.updates")
        text = YAML(typ="safe").load(page)
        text["training"] |= training
        YAML(typ="safe").dump(text, page)
        train.main(SYSTEM)
        for summary in Path("work/train").glob("*/training.json"):
            os.utime(summary, (0, 0))
        resuming.drop_finished(Path())
        return contents(OUT)

    config = YAML(typ="safe").load(Path(CONFIG))
    config["toy"]["schedule"] = SCHEDULES[schedule]
    YAML(typ="safe").dump(config, Path(CONFIG))
    expected = built(after)
    shutil.rmtree("work/train")
    assert built(before) != expected
    assert "starts anew" not in capsys.readouterr().err
    assert built(after) == expected
    assert re.search(said, capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize(
    ("key", "value", "change"),
    [
        ("training.tokens_per_batch", 120, r"training.tokens_per_batch \d+ -> 120"),
        ("data/split/toy/validation.target.txt", None, "data/split has changed"),
        (None, None, "code has changed"),
        (f"{CONFIG}:toy.schedule", SCHEDULES["wsd"], "schedule.kind noam -> wsd, schedule.factor .* -> none, .*"),
    ],
)
def test_a_training_that_starts_anew_says_what_has_changed(project, capsys, monkeypatch, key, value, change):
    train.main(SYSTEM)
    if key is None:
        monkeypatch.setattr(resuming, "SHAPING", re.compile("stages"))
    elif value is None:
        Path(key).write_bytes(Path(key).read_bytes().upper())
    else:
        project.edit(key, value)
    assert "starts anew" not in capsys.readouterr().err
    train.main(SYSTEM)
    assert re.search(rf"  starts anew: {change}; 6 updates stay behind in work/train/", capsys.readouterr().err)
    assert len(list(Path("work/train").iterdir())) == (1 if key is None else 2)


def test_a_training_that_diverged_writes_nothing(project):
    """After its warm-up of 4 updates, at the last."""
    before = contents(OUT)
    project.edit(f"{CONFIG}:toy.schedule.factor", 1e4)
    with pytest.raises(DivergedError, match=r"^update 6, validation part: loss is .* 5\.30, after warm-up"):
        train.main(SYSTEM)
    assert contents(OUT) == before


def test_states_of_a_finished_training_are_dropped_once_another_opens_an_hour_later():
    """Those for a longer training stay."""

    def left():
        return {path.name.rpartition("-")[0]: sorted(os.listdir(path)) for path in Path("work/train").iterdir()}

    train.main(SYSTEM)
    before = left()
    train.main(SYSTEMS[0])
    assert left()[SYSTEM] == before[SYSTEM] > ["open", "state.safetensors", "training.json"]
    [summary] = Path("work/train").glob(f"{SYSTEM}-*/training.json")
    os.utime(summary, (0, 0))
    train.main(SYSTEMS[0])
    assert left() == {SYSTEM: ["open", "training.json"], SYSTEMS[0]: left()[SYSTEMS[0]]}
