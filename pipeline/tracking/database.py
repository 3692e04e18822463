"""MLflow's SQLite store: created atomically, and reported at once if it is locked."""

import contextlib
import glob
import os
import sqlite3
from pathlib import Path

import psutil

LOCK_SECONDS = 5.0  # that another process may keep the store locked


def file_of(uri: str) -> Path | None:
    """The file of a SQLite address, None for any other."""
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]) if uri.startswith("sqlite:///") else None


def probe(path: Path) -> None:
    """Check at once that a SQLite store can be written: MLflow would retry for minutes.

    Raises: sqlite3.Error.
    """
    connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def create(path: Path) -> None:
    """Create a SQLite store with all its tables, atomically.

    MLflow creates the tables in some fifty steps: if it is killed between two, or another process interferes, no later
    run can open the store.
    """
    from mlflow import MlflowClient

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.touch()  # fails at once, where MLflow would retry for minutes
    try:
        MlflowClient(f"sqlite:///{partial}").search_experiments()
        settle(partial, "0")
        publish(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def publish(partial: Path, path: Path) -> None:
    """Give a new store its name, unless another process has created one meanwhile."""
    try:
        os.link(partial, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links, such as exFAT
        if not path.exists():
            partial.rename(path)


def settle(path: Path, experiment_id: str, run_id: str | None = None) -> None:
    """Make the artifact paths of an experiment and its runs relative to the store's folder.

    MLflow writes absolute paths: a copy of the store would still write into the original's folder. Paths that point
    elsewhere do not change; nor do those of runs whose artifacts exist only in the old folder, except for the run
    `run_id`, which is about to add more.

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
    """Whether `uri` is the absolute form of the path `relative`, in any folder."""
    return uri.startswith(("/", "file:/")) and uri.endswith(f"/{relative}")


def sweep(path: Path) -> None:
    """Remove the temporary files of processes that died while they were creating the store at `path`."""
    for partial in path.parent.glob(f"{glob.escape(path.name)}.*.partial*"):
        process = partial.name.removeprefix(f"{path.name}.").partition(".")[0]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            with contextlib.suppress(OSError):
                partial.unlink()
