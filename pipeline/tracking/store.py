"""MLflow's store of runs: where it is, and how a stage goes on without it."""

import contextlib
import json
import logging
import os
import re
import sqlite3
import sys
from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from ..console.printing import printable

F = TypeVar("F", bound=Callable[..., Any])

# MLflow's own settings: what a user has set stays.
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "4",  # seconds
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_ASYNC_LOGGING_BUFFERING_SECONDS": "1",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # what fails is reported here, in one line
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "GIT_PYTHON_REFRESH": "quiet",
}
# The view of runs in MLflow's pages with their scores: "Views" has it, and `make ui` prints its address.
SCORES = ("test/bleu", "test/chrf", "validation_bleu")
COLUMNS = *(f"metrics.`{name}`" for name in SCORES), "tags.`experiment`", "tags.`varied`", "attributes.`Created`"
RUN_NAME = "attributes.`Run Name`"
WIDTHS = {RUN_NAME: 380, "tags.`varied`": 240}
VIEW = {"selectedColumns": COLUMNS, "columnOrder": [RUN_NAME, *COLUMNS], "columnWidths": WIDTHS}
# Tags of MLflow's experiment: as its pages write a view that a user saves.
EXPERIMENT_TAGS = {
    "mlflow.sharedViewState.scores": json.dumps({"name": "Scores", "createdAt": 0, "state": json.dumps(VIEW)}),
    "mlflow.experimentKind": "custom_model_development",
}


class Store:
    """The store that a process tracks in: given up for good at its first failure, such as an answer that takes long."""

    def __init__(self) -> None:
        self.is_off = False  # nothing is recorded: it has failed, or another process records

    @cached_property
    def client(self) -> Any:
        """MLflow's client. Importing it takes seconds, and creating a database too."""
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        uri, lock = address(), project() / "work/mlflow.lock"
        path = uri.removeprefix("sqlite:///")
        if path != uri and not path.startswith("file:"):  # an error at once, where MLflow would try for minutes
            with contextlib.closing(sqlite3.connect(path.partition("?")[0], timeout=5)) as database:
                database.execute("PRAGMA schema_version")
        import mlflow
        from filelock import FileLock

        for name in ("alembic", "mlflow", "urllib3.connectionpool"):  # importing mlflow sets their levels
            logging.getLogger(name).setLevel(logging.CRITICAL)
        mlflow.set_tracking_uri(uri)
        lock.parent.mkdir(exist_ok=True)
        with FileLock(lock):  # of two stages that begin at once, one creates the database
            return mlflow.MlflowClient()

    @cached_property
    def experiment_id(self) -> str:
        """MLflow's experiment, created with its view of scores if it is new.

        A copied or moved project has one of its own: the files of the other's runs go to the folder where it began.
        """
        from mlflow.exceptions import MlflowException

        name, folder = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "nmt", project().resolve()
        # In DVC's copy of the project for an experiment, MLflow's own choice would be lost with the copy.
        artifacts = str(folder / "mlruns") if address().startswith("sqlite:") else None
        experiment = self.client.get_experiment_by_name(name)
        location = experiment.artifact_location if experiment else ""
        if artifacts and location.endswith("/mlruns") and location != artifacts:
            name = f"{name} in {folder}"
            experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            with contextlib.suppress(MlflowException):  # another process was faster
                self.client.create_experiment(name, artifact_location=artifacts, tags=EXPERIMENT_TAGS)
            experiment = self.client.get_experiment_by_name(name)
        return str(experiment.experiment_id)


store = Store()  # one a process


def tolerant(method: F) -> F:
    """A method that talks to the store: an error ends tracking, not the stage. It does nothing if the store is off."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> None:
        if store.is_off:
            return
        try:
            method(*args, **kwargs)
        except Exception as error:
            store.is_off = True
            without_passwords = re.sub(r"//[^/@\s]+@", "//", next(iter(str(error).splitlines()), ""))
            reason = printable(f"{type(error).__name__}: {without_passwords[:200]}")
            print(f"tracking: {reason}; the stage goes on without it", file=sys.stderr)

    return cast(F, call)


def project() -> Path:
    """The project's folder: the working directory, unless DVC runs an experiment in a copy below `.dvc/tmp/exps`.

    DVC_ROOT then names the project; elsewhere it may be inherited from another project.
    """
    here = Path.cwd()
    root = Path(os.environ.get("DVC_ROOT") or here)
    return root if (root / ".dvc/tmp/exps").resolve() in here.resolve().parents else here


def address() -> str:
    """MLFLOW_TRACKING_URI, or mlflow.db in the project's folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project().resolve() / 'mlflow.db'}"
