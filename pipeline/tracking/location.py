"""Where the runs of this project go, also from the copy of it in which DVC runs an experiment."""

import os
from pathlib import Path

from pipeline.tracking.database import file_of


def project() -> Path:
    """The folder of the project, which is not the working directory in an experiment of `--temp` or of the queue.

    DVC runs those in a copy below `.dvc/tmp/exps` that it removes afterwards. DVC_ROOT then names the project;
    anywhere else it may be inherited from another one.
    """
    here = Path.cwd()
    root = Path(os.environ.get("DVC_ROOT") or here)
    return root if (root / ".dvc/tmp/exps").resolve() in here.resolve().parents else here


def folder() -> str:
    """The working directory relative to the project: `.`, or the copy in which an experiment runs."""
    return os.path.relpath(Path.cwd(), project())


def experiment() -> str:
    """The name of the experiment that DVC runs, empty if it runs none."""
    return os.environ.get("DVC_EXP_NAME", "")


def address() -> str:
    """MLFLOW_TRACKING_URI, or the project's own store; a relative SQLite file is relative to the project."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///mlflow.db"
    path, root = file_of(uri), project()
    if path is None or path.is_absolute() or root == Path.cwd():
        return uri
    return f"sqlite:///{os.path.relpath(root)}/{uri.removeprefix('sqlite:///')}"  # the root's own name may hold a "?"
