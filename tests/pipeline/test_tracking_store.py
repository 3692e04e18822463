"""What surrounds a run in MLflow: a store that is there whole or not at all, and the commit it ran at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import tracking_store


def test_store_is_created_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        def __init__(self, uri: str) -> None:
            tracking_store.sqlite_file(uri).write_text("half")

        def search_experiments(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("mlflow.MlflowClient", Half)
    with pytest.raises(KeyboardInterrupt):
        tracking_store.create(tmp_path / "mlflow.db")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mlflow.db").write_text("another's")  # finished first
    monkeypatch.setattr(Half, "search_experiments", lambda client: None)
    tracking_store.create(tmp_path / "mlflow.db")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["another's"]


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
    tracking_store.sweep(tmp_path / "mlflow.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    tracking_store.sweep(tmp_path / "nowhere" / "mlflow.db")


def test_opening_a_store_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / f"mlflow.db.{gone.pid}.partial").touch()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setattr(tracking_store, "create", lambda path: (_ for _ in ()).throw(TimeoutError))
    store = tracking_store.Store("system", "toy", stage="report", fingerprint="0")
    with pytest.raises(TimeoutError):
        store.open(0)
    assert list(tmp_path.iterdir()) == []


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
    assert tracking_store.sqlite_file(uri) == (Path(file) if file else None)


def test_batches() -> None:
    assert list(tracking_store.batches([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(tracking_store.batches([], 2)) == []


def test_commit_is_known_in_a_repository_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tracking_store.git_commit() is None
    subprocess.run(["git", "init", "-q"], check=True)
    assert tracking_store.git_commit() is None
    identity = ["-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "m"], check=True)
    assert len(tracking_store.git_commit() or "") == 40
