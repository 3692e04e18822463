"""A contestant's turn: a process of its own, given a job, that answers with a line of figures."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pipeline.console import cli  # noqa: F401 (it sets how OpenMP's threads wait, for every contestant alike)

HERE = Path(__file__).parent
OURS = "pipeline"


def run(command: list[str], job: dict[str, Any], threads: int) -> dict[str, Any]:
    """The figures that `command`, followed by the job's file, prints last."""
    paths = {"PYTHONPATH": str(HERE.parents[1])}  # of this project
    environment = os.environ | paths | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.json")
        path.write_text(json.dumps(job), encoding="utf-8")
        done = subprocess.run([*command, str(path)], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def script(name: str, *options: str) -> list[str]:
    """The command of a contestant, without its job."""
    return [sys.executable, str(HERE / f"{name}.py"), *options]
