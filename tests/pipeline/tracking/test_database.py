"""A store that is there whole or not at all, and nothing of those that were not finished."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.tracking import database as tracking_database


def test_store_is_created_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        def __init__(self, uri: str) -> None:
            tracking_database.file_of(uri).write_text("half")

        def search_experiments(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("mlflow.MlflowClient", Half)
    monkeypatch.setattr(tracking_database, "settle", lambda path, experiment_id: None)
    with pytest.raises(KeyboardInterrupt):
        tracking_database.create(tmp_path / "mlflow.db")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mlflow.db").write_text("another's")  # finished first
    monkeypatch.setattr(Half, "search_experiments", lambda client: None)
    tracking_database.create(tmp_path / "mlflow.db")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["another's"]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The two tables of a store in which MLflow writes where artifacts are: of experiments 1 and 2."""
    path = tmp_path / "here" / "mlflow.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE experiments (experiment_id INTEGER, artifact_location TEXT)")
        connection.execute("CREATE TABLE runs (run_uuid TEXT, experiment_id INTEGER, artifact_uri TEXT)")
        connection.execute("INSERT INTO experiments VALUES (1, '/old/mlruns/1'), (2, '/old/mlruns/2')")
    connection.close()
    return path


def uris(database: Path) -> dict[str, str]:
    with sqlite3.connect(database) as connection:
        found = connection.execute("SELECT run_uuid, artifact_uri FROM runs").fetchall()
        found += connection.execute("SELECT experiment_id, artifact_location FROM experiments").fetchall()
    connection.close()
    return {str(name): uri for name, uri in found}


def add_runs(database: Path, **runs: str) -> None:
    with sqlite3.connect(database) as connection:
        connection.executemany("INSERT INTO runs VALUES (?, 1, ?)", runs.items())
    connection.close()


@pytest.mark.parametrize(("link_fails", "is_there"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_store_of_another_process_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link_fails: bool, is_there: bool
) -> None:
    """Where the file system has hard links and where it has none."""
    partial, path = tmp_path / "partial", tmp_path / "mlflow.db"
    partial.write_text("mine")
    if is_there:
        path.write_text("another's")

    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if link_fails:
        monkeypatch.setattr("os.link", no_links)
    tracking_database.publish(partial, path)
    assert path.read_text() == ("another's" if is_there else "mine")


def test_artifacts_are_named_relative_to_the_store(database: Path) -> None:
    add_runs(database, a="/old/mlruns/1/a/artifacts", b="file:///old/mlruns/1/b/artifacts")
    tracking_database.settle(database, "1")
    settled = {"a": "mlruns/1/a/artifacts", "b": "mlruns/1/b/artifacts", "1": "mlruns/1", "2": "/old/mlruns/2"}
    assert uris(database) == settled
    tracking_database.settle(database, "1")
    assert uris(database) == settled


def test_artifacts_that_others_placed_elsewhere_stay_there(database: Path) -> None:
    elsewhere = {
        "a": "s3://bucket/mlruns/1/a/artifacts",
        "b": "/data/art/b",
        "c": "mlflow-artifacts:/1/c/artifacts",
        "d": "/old/mlruns/1/other/artifacts",
    }
    add_runs(database, **elsewhere)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE experiments SET artifact_location = 's3://bucket/mlruns/1' WHERE experiment_id = 1")
    connection.close()
    tracking_database.settle(database, "1", "a")
    assert uris(database) == {**elsewhere, "1": "s3://bucket/mlruns/1", "2": "/old/mlruns/2"}


def test_artifacts_that_only_the_old_place_has_are_found_there(database: Path) -> None:
    """The store had been shared, each project keeping its own artifacts; what is logged from now on stands beside."""
    old = database.parents[1] / "old" / "mlruns/1"
    add_runs(database, **{name: f"{old}/{name}/artifacts" for name in "abc"})
    for folder in (
        old / "a/artifacts",
        old / "b/artifacts",
        old / "c/artifacts",
        database.parent / "mlruns/1/c/artifacts",
    ):
        folder.mkdir(parents=True)
    tracking_database.settle(database, "1", "b")
    names = {name: f"mlruns/1/{name}/artifacts" for name in "abc"}
    assert uris(database) == {**names, "a": f"{old}/a/artifacts", "1": "mlruns/1", "2": "/old/mlruns/2"}


def test_a_store_leaves_nothing_of_processes_that_are_gone(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = [f"mlflow.db.{gone.pid}.partial", f"mlflow.db.{gone.pid}.partial-journal"]
    kept = [
        "mlflow.db",
        f"mlflow.db.{os.getpid()}.partial",  # being created
        f"other.db.{gone.pid}.partial",
        f"mlflow.db.{gone.pid}.copy",
        "mlflow.db.mine.partial",
    ]
    for name in left + kept:
        (tmp_path / name).touch()
    tracking_database.sweep(tmp_path / "mlflow.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    tracking_database.sweep(tmp_path / "nowhere" / "mlflow.db")


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("sqlite:///mlflow.db", "mlflow.db"),
        ("sqlite:////a/b.db?timeout=5", "/a/b.db"),
        ("http://127.0.0.1:5000", None),
        ("./mlruns", None),
    ],
)
def test_the_file_of_an_address(uri: str, file: str | None) -> None:
    assert tracking_database.file_of(uri) == (Path(file) if file else None)
