"""Where runs are tracked: in the project's store, even from the copy in which DVC runs an experiment."""

import hashlib
import os
import socket
from pathlib import Path

from pipeline.tracking.database import file_of


def project() -> Path:
    """The project's folder: the working directory, unless DVC runs an experiment of `--temp` or of its queue.

    DVC runs those in a copy below `.dvc/tmp/exps`, which it removes afterwards; DVC_ROOT then names the project.
    Elsewhere DVC_ROOT is ignored, as it may be inherited from another project.
    """
    here = Path.cwd()
    root = Path(os.environ.get("DVC_ROOT") or here)
    return root if (root / ".dvc/tmp/exps").resolve() in here.resolve().parents else here


def folder() -> str:
    """The working directory relative to the project: `.`, or the copy in which an experiment runs."""
    return os.path.relpath(Path.cwd(), project())


def uri() -> str:
    """MLFLOW_TRACKING_URI, or the project's own store."""
    return os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///mlflow.db"


def clone() -> str:
    """What tells this project from other clones in a store that they may share; empty in the project's own store."""
    path = file_of(uri())
    if path is not None and not path.is_absolute():
        return ""
    return hashlib.sha256(f"{socket.gethostname()}:{project().resolve()}".encode()).hexdigest()[:16]


def experiment() -> str:
    """The name of the experiment that DVC runs, empty outside an experiment."""
    return os.environ.get("DVC_EXP_NAME", "")


def address() -> str:
    """The store as seen from the working directory: a relative SQLite file is relative to the project."""
    store, root = uri(), project()
    path = file_of(store)
    if path is None or path.is_absolute() or root == Path.cwd():
        return store
    return f"sqlite:///{os.path.relpath(root)}/{store.removeprefix('sqlite:///')}"  # the root's own name may hold a "?"
