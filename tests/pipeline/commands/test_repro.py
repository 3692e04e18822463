"""`nmt repro`, with tests/toys/fake_dvc.py in the place of DVC; tests/test_repro.py has DVC itself."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from pipeline.commands import board, repro
from pipeline.common import files
from pipeline.common.system import Build, System

POSTNORM, PRENORM = "toy-bpe-transformer_postnorm-toy-1", "toy-bpe-transformer_prenorm-toy-1"
NEW = [{"changed deps": {"data/encode": "modified"}}]
REST = {f"train@{POSTNORM}": NEW, f"train@{PRENORM}": NEW, "report": []}


@pytest.fixture
def folder(toy, project_root, monkeypatch) -> Path:
    """The toy project, not built, on a machine with two cores and much memory."""
    monkeypatch.setattr(repro, "DVC", (sys.executable, str(project_root / "tests/toys/fake_dvc.py")))
    monkeypatch.setattr(repro.cores, "count", lambda: 2)
    monkeypatch.setattr(repro.psutil, "virtual_memory", lambda: SimpleNamespace(available=2**40))
    monkeypatch.setenv("CHANGED", json.dumps(REST))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for system in (POSTNORM, PRENORM):
        best = {"update": 600, "validation_loss": 0.2441, "validation_bleu": 93.2947}
        files.write_json(System.parse(system).training_summary, {"best": best})
    return toy


def calls() -> list[str]:
    return Path("calls.txt").read_text(encoding="utf-8").splitlines()


def lane(system: str) -> str:
    stages = [f"{name}@{system}" for name in ("train", "average", "decode", "score", "attend", "package")]
    return f"--wait-for-lock repro --single-item {' '.join(stages)} threads=1"


def test_what_systems_share_comes_first_and_the_report_last(folder, run, monkeypatch):
    monkeypatch.setenv("CHANGED", json.dumps(REST | {"download@toy": NEW}))
    assert run("repro").status == 0
    status, shared, again, *lanes, last = calls()
    assert status == again == "--wait-for-lock status --json threads=None"
    assert shared == "--wait-for-lock repro encode@toy-bpe threads=None"
    assert sorted(lanes) == [lane(POSTNORM), lane(PRENORM)]
    assert last == "--wait-for-lock repro threads=None"


def test_a_single_lane_is_a_plain_dvc_repro(folder, run, monkeypatch):
    monkeypatch.setenv("CHANGED", json.dumps({f"average@{PRENORM}": [], "report": []}))
    assert run("repro", "--jobs", "1").status == 0
    assert calls()[1:] == ["--wait-for-lock repro threads=None"]


def test_each_stage_is_a_line(folder, run):
    lines = run("repro").out.splitlines()
    assert lines.pop(0) == "trainings to run: 2"
    [train] = [line for line in lines if line.startswith("train       transformer_prenorm-toy      0:0")]
    assert train.endswith("  update 600  valid 0.24  BLEU 93.3")
    assert sum(line.startswith("stages: 12 ran in 0:0") for line in lines) == 1
    assert not [line for line in lines if "Running" in line or "> " in line]
    assert lines.count("transformer_prenorm-toy | warning: no GPU") == 6


def test_at_a_terminal_how_far_a_stage_is_stands_in_its_row(folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    stage = f"train@{PRENORM}"
    state = {"stage": stage, "done": 120, "total": 600, "about": "train 2.31  BLEU 41.2", "left": 65.0}
    files.write_json(Path(f"work/progress/{stage}.json"), state)
    shown = board.Board(Build.load("build"))
    shown.running[stage] = time.monotonic()
    with shown.console.capture() as row:
        shown.console.print(shown.rows())
    assert row.get().endswith("  0:00  120/600  1:05 left  train 2.31  BL…\n")
    with shown.console.capture() as line:
        shown.ended(stage, ok=True)
    assert line.get() == "train       transformer_prenorm-toy      0:00  update 600  valid 0.24  BLEU 93.3\n"


def test_the_best_system_comes_first_and_is_what_to_translate_with(folder, run, monkeypatch):
    monkeypatch.setenv("CHANGED", "{}")
    scores = {
        "transformer_postnorm-toy": {"loss": 1.0, "bleu": 93.0},
        "transformer_prenorm-toy": {"loss": 2.0, "bleu": 94.1},
        "transformer_postnorm-toy_before": {"loss": 2.0, "bleu": 95.0},
    }
    files.write_json(board.METRICS, scores)
    files.write_lines(Path("data/split/toy/test.source.txt"), ["x" * 60, "Où est la gare ?"])
    assert run("repro").out.splitlines() == [
        "Data and pipelines are up to date.",
        "                                 loss   bleu",
        "transformer_postnorm-toy_before  2.00  95.00",
        "transformer_prenorm-toy          2.00  94.10",
        "transformer_postnorm-toy         1.00  93.00",
        "",
        "report     report/index.html",
        f"translate  nmt translate --system {PRENORM} 'Où est la gare ?'",
        "all runs   make ui",
    ]
    assert len(calls()) == 1


def test_a_failure_is_named_and_nothing_else_begins(folder, run, monkeypatch):
    monkeypatch.setenv("FAILS", f"score@{POSTNORM}")
    said = run("repro")
    assert said.status == 1
    assert f"failed; repeat it with: dvc repro score@{POSTNORM}" in said.out
    assert "transformer_postnorm-toy | error: no such file" in said.out.splitlines()
    assert said.err == "error: nmt repro: a stage failed, as said above; the same command goes on from there\n"
    assert not [call for call in calls() if call.endswith("repro threads=None")]


def test_sigterm_ends_what_runs(folder, project_root):
    code = (
        "import sys; from pipeline.commands import nmt, repro;"
        "repro.DVC = (sys.executable, sys.argv.pop()); repro.cores.count = lambda: 2; nmt.app()"
    )
    command = [sys.executable, "-c", code, "repro", "--jobs", "2", str(project_root / "tests/toys/fake_dvc.py")]
    environment = os.environ | {"WAITS": "score", "PYTHONPATH": str(project_root)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(list(folder.glob("waiting-*"))) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert len(list(folder.glob("stopped-*"))) == 2


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"clean@toy": NEW, "encode@toy-bpe": NEW}, []),
        ({f"train@{PRENORM}": NEW}, [PRENORM]),
        ({f"train@{PRENORM}": [{"changed outs": {f"runs/{PRENORM}/train": "deleted"}}]}, []),
        ({f"average@{PRENORM}": NEW, "report": NEW, "train@toy-bpe-transformer-toy-1": NEW}, []),
    ],
)
def test_which_trainings_will_run(folder, changed, expected):
    assert [system.id for system in repro.to_train(Build.load("build"), changed)] == expected


@pytest.mark.parametrize(
    ("where", "text"), [("status", ""), ("score", ""), ("score", "schema: '2.0'\nstages:\n  a: [")]
)
def test_a_lock_that_was_cut_off_says_what_to_do(folder, run, monkeypatch, where, text):
    Path("dvc.lock").write_text(text)
    monkeypatch.setenv("FAILS", where)
    assert "error: dvc.lock: is cut off, as by a kill; delete it and repeat: what was" in run("repro").err


@pytest.mark.parametrize(("cores", "gib", "expected"), [(1, 100, 1), (2, 100, 2), (8, 100, 8), (8, 3.1, 2), (8, 1, 1)])
def test_as_many_lanes_as_cores_and_memory_allow(folder, monkeypatch, cores, gib, expected):
    build = Build.load("build")
    monkeypatch.setattr(repro.cores, "count", lambda: cores)
    monkeypatch.setattr(repro.psutil, "virtual_memory", lambda: SimpleNamespace(available=int(gib * 2**30)))
    assert repro.affordable(build) == expected
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert repro.affordable(build) == 1
