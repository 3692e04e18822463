"""Runs in MLflow and in the local log: resumed without doubled points, and unharmed by a store that fails."""

import errno
import hashlib
import json
import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from pipeline.tracking.deadline import Deadline

from pipeline.tracking import database as tracking_database
from pipeline.tracking import deadline as tracking_deadline
from pipeline.tracking import location as tracking_location
from pipeline.tracking import notes, registry, views
from pipeline.tracking import runs as tracking
from pipeline.tracking import server as tracking_server
from pipeline.tracking import store as tracking_store

SYSTEM = "toy-bpe-model-tiny"
NAME = "model-tiny · bpe · toy"


@pytest.fixture(autouse=True)
def deadline(monkeypatch: pytest.MonkeyPatch) -> Deadline:
    """No verdict of another test, and no variables of an experiment that these tests may run in."""
    for name in ("DVC_ROOT", "DVC_EXP_NAME"):
        monkeypatch.delenv(name, raising=False)
    fresh = Deadline()
    monkeypatch.setattr(tracking, "deadline", fresh)
    return fresh


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of one SQLite store for the whole module: to create one takes seconds."""
    folder = tmp_path_factory.mktemp("store")
    back = os.getcwd()
    os.chdir(folder)  # artifacts go below the working directory
    with tracking.system_run("first", stage="report", fingerprint="0"):
        pass
    os.chdir(back)
    return f"sqlite:///{folder}/mlflow.db"


@pytest.fixture
def client(store: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the store, which is the one that runs of this test log to."""
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    return MlflowClient(store)


def train(log: Path, fingerprint: str, start: int, stop: int, status: Any = "FINISHED") -> None:
    run = tracking.training_run(SYSTEM, stage=f"train@{SYSTEM}", fingerprint=fingerprint, log=log, resumed_at=start)
    run.dataset("toy", [Path(__file__)], {"train": 40})
    for update in range(start + 1, stop + 1):
        run.log(update, train_loss=1 / update, learning_rate=update / 10)
    run.close(status)


def runs(client: Any, fingerprint: str) -> list[Any]:
    experiment = client.get_experiment_by_name("nmt").experiment_id
    return client.search_runs([experiment], f"tags.`nmt.fingerprint` = '{fingerprint}'", order_by=["start_time ASC"])


def steps(client: Any, run: Any, name: str = "train_loss") -> list[int]:
    return [point.step for point in client.get_metric_history(run.info.run_id, name)]


def logged(log: Path) -> list[int]:
    return [json.loads(line)["step"] for line in log.read_text().splitlines()]


def warnings(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().err.splitlines()


def test_run_holds_everything(
    client: Any, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOGNAME", "somebody")  # which comes before the name of the user id
    log, folder = tmp_path / "work" / "log.jsonl", tmp_path / "report"
    (folder / "figures").mkdir(parents=True)
    (folder / "page.md").write_text("# page")
    (folder / "figures" / "curve.svg").write_text("<svg/>")
    with tracking.training_run(SYSTEM, stage="train", fingerprint="all", log=log, resumed_at=0) as run:
        run.params({"training": {"seed": 1, "schedule": {"kind": "noam"}}, "width": 8})
        run.dataset("toy", [folder / "page.md", folder / "figures/curve.svg"], {"train": 40, "test": 2})
        run.log(1, train_loss=2.5, validation_loss=float("nan"))
        run.log(2, train_loss=float("inf"))
        run.artifact(folder, "pages")
        run.artifact(folder / "page.md")
        run.tags(**{"nmt.note": "yes"})
    (found,) = runs(client, "all")
    assert found.info.status == "FINISHED"
    assert found.info.run_name == NAME
    assert found.data.params == {"training.seed": "1", "training.schedule.kind": "noam", "width": "8"}
    assert found.data.metrics["train_loss"] == 2.5
    assert 0 <= found.data.metrics["minutes"] < 5
    assert "validation_loss" not in found.data.metrics
    assert "system/cpu_utilization_percentage" in found.data.metrics
    assert found.data.tags["dvc.stage"] == "train"
    assert found.data.tags["nmt.system"] == found.data.tags["system"] == SYSTEM
    names = [found.data.tags[axis] for axis in ("corpus", "vocabulary", "model", "size")]
    assert names == ["toy", "bpe", "model", "tiny"]
    assert found.data.tags["mlflow.user"] == "somebody"
    assert found.data.tags["nmt.note"] == "yes"
    assert found.data.tags["mlflow.source.name"] == "stages/train.py"
    (given,) = found.inputs.dataset_inputs
    assert (given.dataset.name, given.dataset.digest) == ("toy", hashlib.sha256(b"# page<svg/>").hexdigest()[:36])
    assert json.loads(given.dataset.profile) == {"train": 40, "test": 2}
    assert found.info.artifact_uri == f"mlruns/{found.info.experiment_id}/{found.info.run_id}/artifacts"
    monkeypatch.chdir(Path(store.removeprefix("sqlite:///")).parent)
    names = [file.path for where in (None, "pages", "pages/figures") for file in artifacts(client, found, where)]
    assert names == ["page.md", "pages", "pages/figures", "pages/page.md", "pages/figures/curve.svg"]
    lines = log.read_text().splitlines()
    assert lines == ['{"step": 1, "train_loss": 2.5, "validation_loss": null}', '{"step": 2, "train_loss": null}']
    assert not warnings(capfd)


def artifacts(client: Any, run: Any, where: str | None) -> list[Any]:
    return client.list_artifacts(run.info.run_id, where)


def test_resumed_run_goes_on_without_doubled_points(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    train(log, "resumed", 0, 9, status="KILLED")
    with log.open("a") as file:
        file.write('{"step": 10, "train_lo')  # killed half-way through a line
    train(log, "resumed", 6, 12)
    (found,) = runs(client, "resumed")
    assert found.info.status == "FINISHED"
    assert steps(client, found) == list(range(1, 13))
    assert logged(log) == list(range(1, 13))
    assert len(found.inputs.dataset_inputs) == 1
    numbers = steps(client, found, "system/cpu_utilization_percentage")
    assert numbers == list(range(len(numbers)))


def test_resumed_run_gets_what_only_the_log_holds(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    train(log, "behind", 0, 3, status="KILLED")
    with log.open("a") as file:
        file.writelines(f'{{"step": {update}, "train_loss": 0.5, "other": null}}\n' for update in (4, 5))
    train(log, "behind", 5, 6)
    (found,) = runs(client, "behind")
    assert steps(client, found) == [1, 2, 3, 4, 5, 6]


def test_what_the_store_missed_of_a_training_is_sent_with_its_average(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    train(log, "missed", 0, 6, status="KILLED")
    with log.open("a") as file:  # which goes on after the store was given up
        file.writelines(json.dumps({"step": step, "train_loss": 1 / step}) + "\n" for step in range(7, 1203))
    for _ in range(2):
        with tracking.system_run(SYSTEM, stage="average", fingerprint="missed", missed=log):
            pass
    (found,) = runs(client, "missed")
    assert steps(client, found) == list(range(1, 1203))
    assert steps(client, found, "learning_rate") == list(range(1, 7))
    with tracking.system_run(SYSTEM, stage="average", fingerprint="missed", missed=tmp_path / "nowhere"):
        pass


def test_training_from_scratch_takes_up_an_unfinished_run_only(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    train(log, "again", 0, 2, status="FAILED")  # killed before its first checkpoint
    train(log, "again", 0, 3)
    train(log, "again", 0, 4)  # forced: dvc repro -f
    first, second = runs(client, "again")
    assert steps(client, first) == [1, 2, 3]
    assert steps(client, second) == [1, 2, 3, 4]
    assert logged(log) == [1, 2, 3, 4]


def test_clones_that_share_a_store_share_no_run(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their trainings are the same, to the byte, and may run at the same time."""
    for clone, status in (("one", "KILLED"), ("two", "KILLED"), ("one", "FINISHED")):
        monkeypatch.setattr(tracking_location, "clone", lambda clone=clone: clone)
        train(tmp_path / f"{clone}.jsonl", "shared", 0, 3, status=status)
    first, second = runs(client, "shared")
    assert [run.info.status for run in (first, second)] == ["FINISHED", "KILLED"]
    assert steps(client, first) == steps(client, second) == [1, 2, 3]


def test_a_clone_is_told_by_machine_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for machine, name in (("a", "x"), ("b", "x"), ("a", "y")):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setattr(tracking_location.socket, "gethostname", lambda machine=machine: machine)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        found.add(tracking_location.clone())
        for own in ("", "sqlite:///mlflow.db"):
            monkeypatch.setenv("MLFLOW_TRACKING_URI", own)
            assert tracking_location.clone() == ""  # a project that was moved goes on with its runs
    assert len(found) == 3


def test_a_training_that_the_store_lost_has_ended_once_its_outputs_are_read(client: Any, tmp_path: Path) -> None:
    train(tmp_path / "log.jsonl", "lost", 0, 2)
    [run] = runs(client, "lost")
    client.update_run(run.info.run_id, status="RUNNING")
    tracking.system_run(SYSTEM, stage="average", fingerprint="lost").close()
    assert [run.info.status for run in runs(client, "lost")] == ["FINISHED"]


def test_an_upload_may_take_as_long_as_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tracking_store.TIMEOUT, "4")
    with tracking_store.patient(10 * tracking_deadline.BYTES_PER_SECOND):
        assert os.environ[tracking_store.TIMEOUT] == "14"
    assert os.environ[tracking_store.TIMEOUT] == "4"


def test_exception_marks_the_run(client: Any, tmp_path: Path) -> None:
    def broken(error: BaseException) -> None:
        with tracking.training_run(SYSTEM, stage="t", fingerprint=repr(error), log=tmp_path / "log", resumed_at=0):
            raise error

    with pytest.raises(KeyError):
        broken(KeyError())
    with pytest.raises(KeyboardInterrupt):
        broken(KeyboardInterrupt())
    with pytest.raises(SystemExit):
        broken(SystemExit(143))  # asked to end by SIGTERM
    assert runs(client, "KeyError()")[0].info.status == "FAILED"
    assert runs(client, "KeyboardInterrupt()")[0].info.status == "KILLED"
    assert runs(client, "SystemExit(143)")[0].info.status == "KILLED"


def test_a_silent_run_tracks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = threading.active_count()
    with tracking.NullRun() as run:
        run.log(1, loss=2.0)
        run.params({"a": 1})
        run.dataset("data", [tmp_path / "nowhere"], {"pairs": 3})
        run.artifact(tmp_path / "nowhere")
        run.table("table", {"a": [1]})
        run.image(tmp_path / "nowhere.png", "picture")
        run.describe("words")
        run.model(tmp_path / "nowhere", registry.About(tmp_path, 1))
        run.tags(a="b")
    assert (list(tmp_path.iterdir()), threading.active_count()) == ([], before)


def test_each_scoring_is_a_child_of_the_newest_training(client: Any, tmp_path: Path) -> None:
    train(tmp_path / "train.jsonl", "parent", 0, 1)
    train(tmp_path / "train.jsonl", "parent", 0, 1)
    for beam_size in (1, 5):
        log = tmp_path / "score.jsonl"
        with tracking.scoring_run(SYSTEM, stage="score", fingerprint="parent", log=log) as run:
            run.params({"decode": {"beam_size": beam_size, "length_penalty": 0.6}})
            run.log(0, **{"test/bleu": 40.0})
    _, parent, *children = runs(client, "parent")
    assert [child.data.params["decode.beam_size"] for child in children] == ["1", "5"]
    assert {child.data.tags["mlflow.parentRunId"] for child in children} == {parent.info.run_id}
    names = [f"score, beam {size}, length penalty 0.6 · {NAME}" for size in (1, 5)]
    assert [child.info.run_name for child in children] == names
    assert logged(log) == [0]


def test_training_shows_the_scores_of_its_last_scoring(client: Any, tmp_path: Path) -> None:
    train(tmp_path / "train.jsonl", "scored", 0, 2)
    for score in (41.0, 40.0):
        with tracking.scoring_run(SYSTEM, stage="score", fingerprint="scored", log=tmp_path / "score.jsonl") as run:
            run.log(0, **{"test/bleu": score, "test/chrf": float("nan")})
    with tracking.system_run(SYSTEM, stage="report", fingerprint="scored"):
        pass
    parent, first, second = runs(client, "scored")
    assert [found.data.metrics["test/bleu"] for found in (parent, first, second)] == [40.0, 41.0, 40.0]
    assert "test/chrf" not in parent.data.metrics
    assert steps(client, parent) == [1, 2]
    assert [found.info.run_name for found in (parent, first)] == [NAME, f"score · {NAME}"]
    assert parent.info.status == "FINISHED"


@pytest.mark.parametrize("given", [SYSTEM, "named by a user"])
def test_run_of_an_earlier_version_is_found_and_named_anew(client: Any, tmp_path: Path, given: str) -> None:
    """Its name was the system's id, and it had no tags for the system's names; a name that a user gave it stays."""
    log = tmp_path / "log.jsonl"
    train(log, given, 0, 3, status="KILLED")
    (old,) = runs(client, given)
    client.update_run(old.info.run_id, name=given)
    for tag in ("system", "corpus", "vocabulary", "model", "size"):
        client.delete_tag(old.info.run_id, tag)
    train(log, given, 3, 5)
    (found,) = runs(client, given)
    assert found.info.run_id == old.info.run_id
    assert found.info.status == "FINISHED"
    assert steps(client, found) == [1, 2, 3, 4, 5]
    assert found.info.run_name == (NAME if given == SYSTEM else given)
    assert found.data.tags.get("model") == ("model" if given == SYSTEM else None)


def test_experiment_is_marked_for_the_pages(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that an earlier version created too; a kind that the user chose stays, and the view is today's."""
    chosen = {"new": "custom_model_development", "old": "custom_model_development", "user's": "regression"}
    client.create_experiment("old")
    client.create_experiment("user's", tags={"mlflow.experimentKind": "regression", views.KEY: "{}"})
    for name, kind in chosen.items():
        monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", name)
        with tracking.system_run(SYSTEM, stage="report", fingerprint="kind"):
            pass
        tags = client.get_experiment_by_name(name).tags
        assert tags["mlflow.experimentKind"] == kind
        assert tags[views.KEY] == views.scores()


def test_scoring_tells_the_training_what_a_reader_wants(client: Any, tmp_path: Path, store: str) -> None:
    """Parameters as a number, a description, a table of translations; in both runs."""
    train(tmp_path / "train.jsonl", "told", 0, 1)
    for text in ("old", "new"):
        with tracking.scoring_run(SYSTEM, stage="score", fingerprint="told", log=tmp_path / "score.jsonl") as run:
            run.log(0, num_parameters=1234)
            run.describe(f"{text}\n{notes.LAST}")
            run.table("test", {"source": ["un", "deux"], "translation": ["one", "two"]})
            run.table("other", {"source": ["trois"], "translation": ["three"]})
    for found in [told := runs(client, "told")[0], runs(client, "told")[2]]:
        assert found.data.metrics["num_parameters"] == 1234
        assert found.data.tags["mlflow.note.content"].startswith("new\n")
        listed = json.loads(found.data.tags["mlflow.loggedArtifacts"])
        assert listed == [{"path": f"{name}.json", "type": "table"} for name in ("test", "other")]
        table = Path(store.removeprefix("sqlite:///")).parent / found.info.artifact_uri / "test.json"
        assert json.loads(table.read_text()) == {
            "columns": ["source", "translation"],
            "data": [["un", "one"], ["deux", "two"]],
        }
    client.set_tag(told.info.run_id, "mlflow.note.content", "mine")
    with tracking.system_run(SYSTEM, stage="report", fingerprint="told") as run:
        run.describe("theirs")
    assert runs(client, "told")[0].data.tags["mlflow.note.content"] == "mine"


def test_data_is_named_as_dvc_names_it(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lock = "stages:\n  split:\n    outs:\n    - path: data/toy\n      md5: 12.dir\n"
    (tmp_path / "dvc.lock").write_text(lock)
    with tracking.training_run(SYSTEM, stage="t", fingerprint="dvc", log=tmp_path / "log", resumed_at=0) as run:
        run.dataset("toy", [Path("dvc.lock")], {"pairs": 3}, Path("data/toy"))
    ((given,),) = (found.inputs.dataset_inputs for found in runs(client, "dvc"))
    assert json.loads(given.dataset.source) == {"uri": "data/toy", "dvc_md5": "12.dir"}
    assert json.loads(given.dataset.profile) == {"pairs": 3, "dvc_md5": "12.dir"}


def test_pictures_stand_beside_the_charts(client: Any, tmp_path: Path, store: str) -> None:
    """As MLflow names them; one of the same name is replaced."""
    from PIL import Image

    for size in (600, 900):
        Image.new("RGB", (size, 300)).save(tmp_path / "picture.png")
        with tracking.system_run(SYSTEM, stage="report", fingerprint="seen") as run:
            run.image(tmp_path / "picture.png", "attention", 1)
    (found,) = runs(client, "seen")
    assert found.data.tags["mlflow.loggedImages"] == "True"
    folder = Path(store.removeprefix("sqlite:///")).parent / found.info.artifact_uri / "images"
    small, whole = sorted(folder.iterdir())
    assert whole.name.startswith("attention+step+1+timestamp+0+")
    assert small.name == f"{whole.stem}+compressed.webp"
    assert (Image.open(whole).size, max(Image.open(small).size)) == ((900, 300), 512)


def test_minutes_of_all_processes_add_up(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.jsonl"
    train(log, "minutes", 0, 2, status="KILLED")
    (found,) = runs(client, "minutes")
    client.log_metric(found.info.run_id, "minutes", 100.0)
    train(log, "minutes", 2, 3)
    assert 100.0 <= runs(client, "minutes")[0].data.metrics["minutes"] < 105


def test_run_of_an_earlier_version_gets_its_minutes(client: Any, tmp_path: Path) -> None:
    experiment = client.get_experiment_by_name("nmt").experiment_id
    tags = {"nmt.system": SYSTEM, "nmt.fingerprint": "early", "nmt.kind": "training"}
    run_id = client.create_run(experiment, start_time=1_000, tags=tags).info.run_id
    client.log_metric(run_id, "train_loss", 1.0)
    client.set_terminated(run_id, end_time=91_000)
    with tracking.system_run(SYSTEM, stage="report", fingerprint="early"):
        pass
    assert client.get_run(run_id).data.metrics["minutes"] == 1.5


def test_experiment_that_cannot_be_marked_is_used(
    client: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    def refuse(*_: object) -> None:
        raise MlflowException("UNIQUE constraint failed: experiment_tags.key")

    experiment = client.create_experiment("unmarked")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "unmarked")
    monkeypatch.setattr(MlflowClient, "set_experiment_tag", refuse)
    with tracking.system_run(SYSTEM, stage="report", fingerprint="unmarked"):
        pass
    assert [found.info.run_name for found in client.search_runs([experiment])] == [NAME]
    assert not warnings(capfd)


def test_report_adds_to_the_training_or_stands_in_for_it(client: Any, tmp_path: Path) -> None:
    train(tmp_path / "log", "visited", 0, 1, status="FAILED")
    for fingerprint in ("visited", "elsewhere"):
        with tracking.system_run(SYSTEM, stage="report", fingerprint=fingerprint) as run:
            run.params({"a": 1})
            run.tags(page="yes")
    (visited,), (made,) = runs(client, "visited"), runs(client, "elsewhere")
    assert (visited.info.status, made.info.status) == ("FAILED", "FINISHED")
    assert visited.data.tags["page"] == made.data.tags["page"] == "yes"


def test_many_parameters_are_sent_in_batches_and_once(client: Any, tmp_path: Path) -> None:
    with tracking.training_run(SYSTEM, stage="t", fingerprint="many", log=tmp_path / "log", resumed_at=0) as run:
        run.params({f"p{number}": number for number in range(250)})
        run.params({"p1": "changed", "long": "x" * 7000})
        for update in range(1, 1001):
            run.log(update, a=1.0, b=2.0)
    (found,) = runs(client, "many")
    assert len(found.data.params) == 251
    assert found.data.params["p1"] == "1"
    assert len(steps(client, found, "a")) == len(steps(client, found, "b")) == 1000


@pytest.mark.parametrize("answers", [False, True])
def test_dead_server_warns_once(
    answers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as server:
        port = server.getsockname()[1]
        if not answers:
            server.close()  # refuses; else takes the call and never says a word
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        monkeypatch.setattr(tracking_server, "ANSWER_SECONDS", 1.0)
        began = time.monotonic()
        train(tmp_path / "log", "dead", 0, 20)
        assert time.monotonic() - began < 30
    assert logged(tmp_path / "log") == list(range(1, 21))
    (line,) = warnings(capfd)
    what = "timed out" if answers else f"[Errno {errno.ECONNREFUSED}] Connection refused"
    why = f"ConnectionError: http://127.0.0.1:{port}: {what}; a tracking server was expected"
    assert line == f"tracking: {why}; the local log {tmp_path / 'log'} goes on"


def test_unwritable_store_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}")
    train(tmp_path / "log", "unwritable", 0, 3)
    why = "OperationalError: unable to open database file"
    assert warnings(capfd) == [f"tracking: {why}; the local log {tmp_path / 'log'} goes on"]
    assert logged(tmp_path / "log") == [1, 2, 3]


def test_store_that_cannot_be_created_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/file/mlflow.db")
    train(tmp_path / "log", "impossible", 0, 3)
    (line,) = warnings(capfd)
    assert line.startswith(("tracking: NotADirectoryError: ", "tracking: FileExistsError: "))
    assert logged(tmp_path / "log") == [1, 2, 3]


def test_locked_store_warns_once(
    client: Any, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tracking_database, "LOCK_SECONDS", 0.1)
    with sqlite3.connect(store.removeprefix("sqlite:///"), isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        train(tmp_path / "log", "locked", 0, 3)
        other.execute("ROLLBACK")
    other.close()
    why = "OperationalError: database is locked"
    assert warnings(capfd) == [f"tracking: {why}; the local log {tmp_path / 'log'} goes on"]
    assert logged(tmp_path / "log") == [1, 2, 3]


def test_full_store_warns_once(client: Any, store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = tracking.training_run(SYSTEM, stage="t", fingerprint="full", log=tmp_path / "log", resumed_at=0)
    wait_for(lambda: bool(run._store.run_id))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(store.removeprefix("sqlite:///")), hard))
    try:  # no file can grow past the size the store has now
        for update in range(1, 5001):
            run.log(update, train_loss=1.0)
        run.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (line,) = warnings(capfd)
    assert line.startswith("tracking: ")
    assert line.endswith(f"; the local log {tmp_path / 'log'} goes on")
    assert len(logged(tmp_path / "log")) == 5000


def wait_for(what: Any, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def impatient(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.3) -> Deadline:
    monkeypatch.setattr(tracking_deadline, "WAIT_SECONDS", seconds)
    return Deadline()


def test_silent_store_is_not_waited_for(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tracking, "deadline", impatient(monkeypatch))
    woken = threading.Event()
    monkeypatch.setattr(tracking_store.Store, "tags", lambda store, values: woken.wait(90) and None)
    run = tracking.training_run(SYSTEM, stage="t", fingerprint="silent", log=tmp_path / "log", resumed_at=0)
    run.tags(a="b")
    run.log(1, train_loss=1.0)
    began = time.monotonic()
    run.close()
    woken.set()
    assert time.monotonic() - began < 60
    why = "the store did not answer in time"
    assert warnings(capfd) == [f"tracking: {why}; the local log {tmp_path / 'log'} goes on"]


def report(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log a page from the project in `folder`; its store by its absolute name, since MLflow keeps files open."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
    (folder / "page.md").write_text(text)
    with tracking.system_run(SYSTEM, stage="report", fingerprint="copied") as run:
        run.artifact(folder / "page.md", "report")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def copies(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A project whose artifacts have absolute names, as MLflow gives them; a copy of it that logged another page."""
    one, two = tmp_path / "one", tmp_path / "two"
    shutil.copytree(Path(store.removeprefix("sqlite:///")).parent, one, ignore=shutil.ignore_patterns("*-journal"))
    report(one, "original", monkeypatch)
    with sqlite3.connect(one / "mlflow.db", isolation_level=None) as connection:  # as it was before it was relative
        connection.execute(f"UPDATE runs SET artifact_uri = '{one}/' || artifact_uri")
        connection.execute(f"UPDATE experiments SET artifact_location = '{one}/' || artifact_location")
    connection.close()
    shutil.copytree(one, two)
    before = contents(one)
    report(two, "copy", monkeypatch)
    assert contents(one) == before
    return one, two


def test_a_copied_project_keeps_its_own_artifacts(copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    one, two = copies
    assert [path.read_text() for path in two.glob("mlruns/1/*/artifacts/report/page.md")] == ["copy"]
    shutil.move(two, one.parent / "three")
    shutil.rmtree(one)
    report(one.parent / "three", "moved", monkeypatch)
    client = MlflowClient(f"sqlite:///{one.parent}/three/mlflow.db")
    (found,) = runs(client, "copied")
    assert [file.path for file in artifacts(client, found, "report")] == ["report/page.md"]
    assert Path(client.download_artifacts(found.info.run_id, "report/page.md")).read_text() == "moved"
    assert not one.exists()
    assert not two.exists()


@pytest.mark.slow
def test_mlflow_ui_shows_the_artifacts_of_the_copy(copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    _, two = copies
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (found,) = runs(MlflowClient(f"sqlite:///{two}/mlflow.db"), "copied")
    ui = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with subprocess.Popen(ui, cwd=two, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(lambda: answer(f"{address}/health") == b"OK", seconds=180)
            listed = answer(f"{address}/ajax-api/2.0/mlflow/artifacts/list?run_id={found.info.run_id}&path=report")
            assert [file["path"] for file in json.loads(listed)["files"]] == ["report/page.md"]
            assert answer(f"{address}/get-artifact?run_id={found.info.run_id}&path=report/page.md") == b"copy"
        finally:
            server.terminate()


def answer(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            return bytes(response.read())
    except OSError as error:
        return str(error).encode()


def test_the_first_failure_is_the_verdict_for_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}")
    train(tmp_path / "first", "verdict", 0, 2)
    threads = threading.active_count()
    monkeypatch.setattr(tracking, "Store", None)  # not asked again
    train(tmp_path / "second", "verdict", 0, 3)
    with tracking.system_run(SYSTEM, stage="report", fingerprint="verdict") as run:
        run.artifact(tmp_path / "first")
    assert threading.active_count() == threads
    assert logged(tmp_path / "second") == [1, 2, 3]
    assert len(warnings(capfd)) == 1


def test_a_store_that_falls_behind_is_given_up(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tracking, "MAX_JOBS", 10)
    woken = threading.Event()
    monkeypatch.setattr(tracking_store.Store, "open", lambda store, resumed_at: woken.wait(90) and None)
    train(tmp_path / "log", "behind", 0, 30)
    woken.set()
    for thread in threading.enumerate():
        if thread.name == "tracking":
            thread.join(10)  # else it may wake in the next test and give up that one's store
    why = "the store does not keep up"
    assert warnings(capfd) == [f"tracking: {why}; the local log {tmp_path / 'log'} goes on"]
    assert logged(tmp_path / "log") == list(range(1, 31))


def test_reason_is_short_and_clean() -> None:
    assert tracking.reason(ValueError()) == "ValueError"
    assert tracking.reason(ValueError("one\ntwo")) == "ValueError: one"
    assert tracking.reason(ValueError("a\x1b[31mb\x07")) == "ValueError: a?[31mb?"
    assert tracking.reason(ValueError("x" * 999)) == f"ValueError: {'x' * 200}"
    assert tracking.reason(ValueError("to http://me:secret@host/api")) == "ValueError: to http://host/api"


def test_without_mlflow_warns_once(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with tracking.system_run(SYSTEM, stage="report", fingerprint="none") as run:
        run.artifact(tmp_path)
    (line,) = warnings(capfd)
    assert line.startswith("tracking: ModuleNotFoundError: import of mlflow halted")
    assert line.endswith("; the stage goes on without it")


def test_full_disk_ends_the_log_only(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write = os.write

    def full(file: int, data: bytes) -> int:
        if b'"step": 3' in data:
            return write(file, data[:5])
        if data.startswith(b'p": 3'):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    train(tmp_path / "log", "disk", 0, 5)
    why = "OSError: [Errno 28] No space left on device"
    assert warnings(capfd) == [f"tracking: the local log {tmp_path / 'log'} ends here: {why}; the run goes on"]
    assert (tmp_path / "log").read_text().count("\n") == 2
    (found,) = runs(client, "disk")
    assert steps(client, found) == [1, 2, 3, 4, 5]


def test_log_that_cannot_be_opened(client: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    train(tmp_path / "file" / "log", "closed", 0, 1)
    (line,) = warnings(capfd)
    assert line.startswith(f"tracking: the local log {tmp_path / 'file' / 'log'} ends here: ")


def test_log_that_is_a_folder(client: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").mkdir()
    train(tmp_path / "log", "folder", 0, 1)
    (line,) = warnings(capfd)
    assert line.startswith(f"tracking: the local log {tmp_path / 'log'} ends here: ")


def test_cut_keeps_whole_lines_up_to_the_update(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"step": 1}\nnoise\n[]\n{"step": null}\n{"step": 1e999}\n{"step": 2}\n{"step": 3}\n{"step": 2')
    tracking.cut(log, 2)
    assert log.read_text() == '{"step": 1}\n{"step": 2}\n'
    tracking.cut(log, 0)
    assert log.read_text() == ""


def test_flatten() -> None:
    assert tracking.flatten({"a": {"b": {"c": 1}, "d": [1, 2]}, "e": None}) == {
        "a.b.c": "1",
        "a.d": "[1, 2]",
        "e": "None",
    }
