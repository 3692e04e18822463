"""The stage `report`: the very command of dvc.yaml on what the stages before leave behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline import files
from tests.toys.results import write_project

ROOT = Path(__file__).parents[2]
PLOTS = YAML(typ="safe").load(ROOT / "dvc.yaml")["plots"]


def report(project):
    # a store that cannot be: the stage must not need one
    dead = {"MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db", "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    command = [sys.executable, "-m", "stages.report"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, env=os.environ | dead, check=False)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A project whose report is written, and what the command said."""
    root = write_project(tmp_path_factory.mktemp("reported"), {"poor": [30.0, 32.0], "good": [90.0, 90.0]})
    return root, report(root)


def test_the_page_and_the_metrics_are_written(reported):
    project, run = reported
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in (project / "report").iterdir()) == ["index.html", "metrics.json"]
    assert "good wins" in (project / "report/index.html").read_text(encoding="utf-8")
    metrics = json.loads((project / "report/metrics.json").read_text())
    assert metrics == {
        "poor-tiny": {"loss": 1.25, "bleu": 31.0, "bleu_deviation": 1.4142},
        "good-tiny": {"loss": 1.25, "bleu": 90.0, "bleu_deviation": 0.0},
    }


def test_every_system_is_in_every_chart_that_dvc_draws(reported):
    """And every chart that dvc.yaml names is there, by templates that are there."""
    for [(path, about)] in (plot.items() for plot in PLOTS):
        rows = files.read_table(reported[0] / path)
        assert [row["system"] for row in rows][:: len(rows) - 1] == ["bpe-poor-tiny", "bpe-good-tiny"]
        assert {"corpus", about["x"], about["y"]} <= set(rows[0])
        assert (ROOT / f".dvc/plots/{about['template']}.json").is_file()


def test_the_terminal_shows_every_score_in_eighty_columns(reported):
    lines = reported[1].stdout.splitlines()
    rows = [line.replace("│", " ").split() for line in lines]
    assert ["good", "90.00", "–", "80.00", "12,345"] in rows
    assert ["poor", "31.00", "±", "1.41", "0.011", "80.00", "12,345"] in rows
    assert max(map(len, lines)) <= 80


def test_again_gives_the_same_bytes(reported):
    page = reported[0] / "report/index.html"
    first = page.read_bytes()
    assert report(reported[0]).returncode == 0
    assert page.read_bytes() == first


def test_a_missing_file_is_named_and_nothing_written(tmp_path):
    project = write_project(tmp_path, {"good": [90.0]})
    (project / "metrics/toy-bpe-good-tiny-1.json").unlink()
    run = report(project)
    assert run.returncode == 1
    assert run.stderr.startswith("error: metrics/toy-bpe-good-tiny-1.json: no such file; expected ")
    assert not (project / "report").exists()
