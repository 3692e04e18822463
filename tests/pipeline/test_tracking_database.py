"""A store that is there whole or not at all, and nothing of those that were not finished."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import tracking_database


def test_store_is_created_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        def __init__(self, uri: str) -> None:
            tracking_database.file_of(uri).write_text("half")

        def search_experiments(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("mlflow.MlflowClient", Half)
    with pytest.raises(KeyboardInterrupt):
        tracking_database.create(tmp_path / "mlflow.db")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mlflow.db").write_text("another's")  # finished first
    monkeypatch.setattr(Half, "search_experiments", lambda client: None)
    tracking_database.create(tmp_path / "mlflow.db")
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
