"""Stages in processes of their own, in the folder that a test's fixture `project` lays out."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def python(project, project_root) -> Run:
    """Run Python there, with this repository's modules and a store of runs of its own."""

    def run_there(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": str(project_root),
            "OMP_NUM_THREADS": "1",
            "MLFLOW_TRACKING_URI": f"sqlite:///{project / 'mlflow.db'}",
        }
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)

    return run_there


@pytest.fixture
def run(python) -> Run:
    """Run a stage there."""
    return lambda stage, *axes: python("-m", f"stages.{stage}", *axes)
