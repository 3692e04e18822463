"""Stages in this process, in a copy of what the toy project's stages read and wrote."""

import shutil
from pathlib import Path

import pytest

from pipeline.tracking.store import store
from tests.toys.project import Project


def copy_files(built: Project, root: Path) -> Project:
    """A copy without code, git and DVC's cache."""
    for name in ("params.yaml", "dvc.lock"):
        shutil.copy(built.root / name, root)
    for name in ("configs", "corpora", "data", "metrics", "models", "my", "report", "runs"):
        shutil.copytree(built.root / name, root / name)
    return Project(root)


@pytest.fixture
def project(built, tmp_path, monkeypatch) -> Project:
    """A copy, to which the test goes; no store of runs hears of it."""
    (root := tmp_path / "project").mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setattr(store, "is_off", True)
    return copy_files(built, root)
