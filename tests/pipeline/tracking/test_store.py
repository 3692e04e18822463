"""What surrounds a run in MLflow: leftovers swept when a store opens, batches, and the commit it ran at."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.tracking import database as tracking_database
from pipeline.tracking import store as tracking_store
from pipeline.tracking.deadline import Deadline


def test_opening_a_store_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / f"mlflow.db.{gone.pid}.partial").touch()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setattr(tracking_database, "create", lambda path: (_ for _ in ()).throw(TimeoutError))
    store = tracking_store.Store("system", "toy", stage="report", fingerprint="0", deadline=Deadline())
    with pytest.raises(TimeoutError):
        store.open(0)
    assert list(tmp_path.iterdir()) == []


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
