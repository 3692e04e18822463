"""Which store: the project's own, also from the copy in which DVC runs an experiment."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.tracking import location


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of an experiment, nor of a store."""
    for name in ("DVC_ROOT", "DVC_EXP_NAME", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a queued experiment of the project in `tmp_path`."""
    folder = tmp_path / ".dvc/tmp/exps/standalone/tmpabc"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("DVC_EXP_NAME", "bushy-lier")
    return folder


def test_a_project_is_where_its_stages_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for root in ("", str(tmp_path), str(tmp_path.parent), "/nowhere"):  # of another project, inherited
        monkeypatch.setenv("DVC_ROOT", root)
        assert location.project() == tmp_path
        assert location.folder() == "."
        assert location.address() == "sqlite:///mlflow.db"
    assert location.experiment() == ""


def test_an_experiment_belongs_to_the_project_that_it_was_started_in(tmp_path: Path, copy: Path) -> None:
    assert location.project() == tmp_path
    assert location.folder() == ".dvc/tmp/exps/standalone/tmpabc"
    assert location.experiment() == "bushy-lier"


def test_an_experiment_of_a_project_below_the_root_of_its_repository(
    tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy / "below").mkdir()
    monkeypatch.chdir(copy / "below")
    assert location.project() == tmp_path


def test_a_linked_project(tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(link))
    assert location.project() == link


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("", "sqlite:///../../../../../mlflow.db"),
        ("sqlite:///mine/runs.db?timeout=9", "sqlite:///../../../../../mine/runs.db?timeout=9"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
    ],
)
def test_the_store_of_an_experiment(uri: str, address: str, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert location.address() == address


STAGE = """
from pathlib import Path
from pipeline import params
from pipeline.tracking import runs

value = Path("params.yaml").read_text()
with runs.training_run("toy", stage="train", fingerprint="same", log=Path("work/log"), resumed_at=0) as run:
    for update in range(1, 4):
        run.log(update, train_loss=1 / update)
    Path("out.txt").write_text(value)
    run.artifact(Path("out.txt"))
with runs.scoring_run("toy", stage="score", fingerprint="same", log=Path("work/score")) as run:
    run.log(0, bleu=40.0)
"""
GRAPH = """
stages:
  train:
    cmd: python stage.py
    deps: [stage.py]
    params: [value]
    outs: [out.txt]
"""


@pytest.mark.slow
def test_experiments_of_dvc_log_to_the_store_of_the_project(tmp_path: Path, project_root: Path) -> None:
    """In the workspace, in a copy, and two of the queue at once: same fingerprint, yet each has a run of its own."""
    from mlflow import MlflowClient

    project = tmp_path / "project"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DVC_", "MLFLOW_"))}
    environment = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "PYTHONPATH": str(project_root),
        "DVC_NO_ANALYTICS": "1",
        "DVC_SITE_CACHE_DIR": str(tmp_path / "site"),
    }

    def command(*words: str) -> str:
        done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    project.mkdir()
    texts = {
        "stage.py": STAGE,
        "dvc.yaml": GRAPH,
        "params.yaml": "value: 0\n",
        ".gitignore": "mlflow.db*\nmlruns\nwork\n",
    }
    for name, text in texts.items():
        (project / name).write_text(text)
    command("git", "init", "-q")
    command("dvc", "init", "-q")
    for key in ("name", "email"):
        command("git", "config", f"user.{key}", "n")
    command("git", "add", ".")
    command("git", "commit", "-qm", "one")
    command("dvc", "repro")
    for value, name in enumerate(("first", "second"), 1):
        command("dvc", "exp", "run", "--queue", "--name", name, "-S", f"value={value}")
    command("dvc", "queue", "start", "-j", "2")
    command("dvc", "exp", "run", "--temp", "--name", "third", "-S", "value=3")
    command("dvc", "exp", "run", "--name", "fourth", "-S", "value=4")
    until = time.monotonic() + 600
    while command("dvc", "queue", "status").count("Success") < 2:
        assert time.monotonic() < until, command("dvc", "queue", "status")
        time.sleep(1)
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    trained, scored = (client.search_runs(["1"], f"tags.`nmt.kind` = '{kind}'") for kind in ("training", "scoring"))
    names = ["", "first", "fourth", "second", "third"]
    assert sorted(run.data.tags.get("dvc_exp_name", "") for run in trained) == names
    assert sorted(run.data.tags.get("dvc_exp_name", "") for run in scored) == names
    training = {run.info.run_id: run for run in trained}
    for run in trained:
        artifact = project / run.info.artifact_uri / "out.txt"
        values = ("", "first", "second", "third", "fourth")
        assert artifact.read_text() == f"value: {values.index(run.data.tags.get('dvc_exp_name', ''))}\n"
        assert [point.step for point in client.get_metric_history(run.info.run_id, "train_loss")] == [1, 2, 3]
        assert run.info.status == "FINISHED"
    for run in scored:
        parent = training[run.data.tags["mlflow.parentRunId"]]
        assert parent.data.tags["nmt.folder"] == run.data.tags["nmt.folder"]
