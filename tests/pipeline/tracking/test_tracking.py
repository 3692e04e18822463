"""Runs in a store of its own: what a training and its stages leave there; a store that fails costs one line."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.common import files, parts
from pipeline.common.system import System
from pipeline.tracking import registry, runs, store
from tests.toys import packages, systems

SYSTEM = System("toy", "bpe", "rnnsearch", "tiny", 1)


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with the summary of a training, in which nothing is tracked yet."""
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_EXPERIMENT_NAME", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV", "DVC_ROOT"):
        monkeypatch.delenv(name, raising=False)
    # MLflow keeps a store open by its address: each test has one of its own.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    files.write_json(SYSTEM.training_summary, {"best": {"validation_loss": 1.5}})
    return tmp_path


@pytest.fixture
def new_store(project, monkeypatch) -> store.Store:
    """The store of a new process."""
    fresh = store.Store()
    for module in (store, runs, registry):
        monkeypatch.setattr(module, "store", fresh)
    return fresh


def train(state_file: Path, resumed_at: int, updates: range) -> str:
    """Track a training's updates; the id of its run."""
    with runs.Run(SYSTEM) as run:
        run.open_training(state_file, resumed_at)
        run.params({"training": {"updates": 4}})
        for update in updates:
            run.log(update, train_loss=1 / update, broken=float("nan"))
        run.mark()
    return run.id


def test_a_training_and_its_scores(new_store, project):
    training = train(project / "states/run.json", 0, range(1, 5))
    files.write_json(SYSTEM.decoded / "decode.json", {"beam_size": 5})
    files.write_json(SYSTEM.scored / "scores.json", {})
    parts.write(SYSTEM.split, "test", [("le chat", "the cat")])
    with runs.Run(SYSTEM) as run:
        run.open_scoring()
        run.scoring({"seed": 1}, {"test": (["le chat"], [["the cat"]], ["a cat"])}, {"test": {"bleu": 41.3}})
    assert not new_store.is_off
    first = new_store.client.get_run(training)
    assert first.info.status == "FINISHED"
    assert first.data.params == {"training.updates": "4"}
    assert first.data.metrics == {"train_loss": 0.25, "test/bleu": 41.3}
    assert first.data.tags["system"] == SYSTEM.id
    assert first.info.run_name.startswith("rnnsearch-tiny-1")
    second = new_store.client.get_run(run.id)
    assert second.data.tags["mlflow.parentRunId"] == training
    assert second.data.params == {"score.seed": "1", "decode.beam_size": "5"}
    assert second.inputs.dataset_inputs[0].dataset.name == "toy test"
    assert {file.path for file in new_store.client.list_artifacts(run.id)} == {"decode", "score", "test.json"}


def test_a_resumed_training_goes_on_in_its_run(new_store, project):
    training = train(project / "states/run.json", 0, range(1, 4))
    assert train(project / "states/run.json", 2, range(3, 6)) == training
    history = new_store.client.get_metric_history(training, "train_loss")
    assert sorted({point.step for point in history}) == [1, 2, 3, 4, 5]


def test_a_copied_project_keeps_its_own_files(new_store, project, monkeypatch):
    """Its copy of the database names the folder where the project began."""
    training = train(project / "states/run.json", 0, range(1, 3))
    copy = project / "copy"
    copy.mkdir()
    monkeypatch.setattr(store, "project", lambda: copy)
    del new_store.experiment_id
    with runs.Run(SYSTEM) as run:
        run.open_finished()
    assert run.id != training
    assert new_store.client.get_run(run.id).info.artifact_uri.startswith(f"{copy}/mlruns/")


def git(*arguments: str) -> str:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_two_stages_that_begin_at_once_share_a_new_store(project, project_root):
    """As in the first build: MLflow's own migrations do not bear it."""
    command = [sys.executable, "-c", "from pipeline.tracking.store import store; print(store.experiment_id)"]
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    assert {process.communicate()[0] for process in both} == {b"1\n"}


def test_an_experiment_shows_its_name_and_what_it_varies(new_store, project, monkeypatch):
    """Also where git sees no change: a file as long, as old and written in place, as DVC may leave it."""
    config = project / "configs/rnnsearch.yaml"
    config.parent.mkdir()
    (project / "params.yaml").write_text("build:\n  seeds: [1]\n", encoding="utf-8")
    config.write_text("tiny:\n  dropout: 0.1\n", encoding="utf-8")
    os.utime(config, (1e9, 1e9))
    git("init", "--quiet")
    git("config", "core.trustctime", "false")
    git("add", "--all")
    git("commit", "--quiet", "--message", "Begin")
    config.write_text("tiny:\n  dropout: 0.2\n", encoding="utf-8")
    os.utime(config, (1e9, 1e9))
    assert git("diff", "--name-only") == ""
    (project / "params.yaml").write_text("build:\n  seeds: [1, 2]\n", encoding="utf-8")
    monkeypatch.setenv("DVC_EXP_NAME", "wide")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", git("rev-parse", "HEAD"))
    run = new_store.client.get_run(train(project / "states/run.json", 0, range(1, 2)))
    assert run.info.run_name.startswith("dropout=0.2 · wide · rnnsearch-tiny-1")
    assert run.data.tags["varied"] == "tiny.dropout=0.2"


def test_the_champion_is_the_best_on_validation(new_store, project):
    """By BLEU among the versions validated on the same sentences."""
    client = new_store.client
    client.create_registered_model("toy")
    for bleu, validation in ((20.0, "a"), (30.0, "a"), (25.0, "a"), (40.0, "b")):
        tags = {"validation_bleu": str(bleu), "validation_loss": "1.0", "validation": validation}
        client.create_model_version("toy", source=str(project), tags=tags)
    registry.choose_champion("toy", "a")
    assert str(client.get_model_version_by_alias("toy", "champion").version) == "2"


def test_a_package_is_registered_once_and_by_no_experiment(new_store, project, monkeypatch):
    monkeypatch.setenv("DVC_EXP_NAME", "other")
    packages.build(project)  # its stage registers
    assert not new_store.client.search_registered_models()
    monkeypatch.delenv("DVC_EXP_NAME")
    for _ in range(2):
        registry.register(System.parse(systems.SYSTEM))
    assert not new_store.is_off
    [version] = new_store.client.search_model_versions("name = 'toy'")
    assert version.tags["system"] == systems.SYSTEM
    assert str(new_store.client.get_model_version_by_alias("toy", "champion").version) == "1"


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept = []
        threading.Thread(target=lambda: kept.append(listening.accept()), daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "sqlite:///broken.db"])
def test_a_store_that_fails_costs_one_line(new_store, project, monkeypatch, capfd, address):
    (project / "broken.db").write_text("no database", encoding="utf-8")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    train(project / "states/run.json", 0, range(1, 5))
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("tracking: ")
    assert line.endswith("; the stage goes on without it")


@pytest.mark.slow
def test_a_store_that_hangs_costs_one_line_and_seconds(new_store, project, monkeypatch, capfd):
    with silent_server() as port:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        began = time.monotonic()
        train(project / "states/run.json", 0, range(1, 5))
    assert time.monotonic() - began < 25
    assert len(capfd.readouterr().err.splitlines()) == 1
