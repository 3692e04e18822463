"""The SQLite file that MLflow keeps its store in: there whole or not at all, and refused at once where it is locked."""

import contextlib
import glob
import os
import sqlite3
from pathlib import Path

import psutil

LOCK_SECONDS = 5.0  # so long another process may lock the store


def file_of(uri: str) -> Path | None:
    """The file of a SQLite address, None for any other."""
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]) if uri.startswith("sqlite:///") else None


def probe(path: Path) -> None:
    """Fail now where a SQLite store cannot be written: MLflow would try again for minutes.

    Raises: sqlite3.Error.
    """
    connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def create(path: Path) -> None:
    """A new SQLite store, there with all its tables or not at all.

    MLflow makes the tables in some fifty steps: killed between two, or with another process at it, it leaves a store
    that no later run can open.
    """
    from mlflow import MlflowClient

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.touch()  # fails at once where MLflow would try again for minutes
    try:
        MlflowClient(f"sqlite:///{partial}").search_experiments()
        settle(partial, "0")
        publish(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def publish(partial: Path, path: Path) -> None:
    """Give a new store its name, unless another process was faster."""
    try:
        os.link(partial, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links, such as exFAT
        if not path.exists():
            partial.rename(path)


def settle(path: Path, experiment_id: str, run_id: str | None = None) -> None:
    """Let the artifacts of an experiment and of its runs stand beside the store, by names relative to its folder.

    MLflow writes absolute ones: a copy of the store would go on writing to the folder of the original. What others
    placed elsewhere stays there; so do artifacts that only the old place has, but for those of the run `run_id`,
    which is about to get more.

    Raises: sqlite3.Error.
    """
    with contextlib.closing(sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)) as connection:
        where = f"mlruns/{experiment_id}"
        find = "SELECT artifact_location FROM experiments WHERE experiment_id = ?"
        for (old,) in connection.execute(find, (experiment_id,)).fetchall():
            if is_absolute(old, where):
                update = "UPDATE experiments SET artifact_location = ? WHERE experiment_id = ?"
                connection.execute(update, (where, experiment_id))
        find = "SELECT run_uuid, artifact_uri FROM runs WHERE experiment_id = ? AND artifact_uri LIKE '%/mlruns/%'"
        for run, old in connection.execute(find, (experiment_id,)).fetchall():
            new = f"{where}/{run}/artifacts"
            elsewhere = Path(old.removeprefix("file://")).is_dir() and not (path.parent / new).is_dir()
            if is_absolute(old, new) and (run == run_id or not elsewhere):
                connection.execute("UPDATE runs SET artifact_uri = ? WHERE run_uuid = ?", (new, run))


def is_absolute(uri: str, relative: str) -> bool:
    """Whether `uri` is the absolute form of the path `relative`, in whatever folder."""
    return uri.startswith(("/", "file:/")) and uri.endswith(f"/{relative}")


def sweep(path: Path) -> None:
    """Remove what processes that are gone have left of a store at `path` that they were creating."""
    for partial in path.parent.glob(f"{glob.escape(path.name)}.*.partial*"):
        process = partial.name.removeprefix(f"{path.name}.").partition(".")[0]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            with contextlib.suppress(OSError):
                partial.unlink()
