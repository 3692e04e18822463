"""A contestant's turn: a process of its own, given a job file, that answers with a line of figures."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pipeline import cli  # noqa: F401 (it says how OpenMP's threads wait, of every contestant alike)

HERE = Path(__file__).parent
OURS, PEERS = "pipeline", ("hugging_face", "eole")


def run(command: list[str], given: dict[str, Any], threads: int) -> dict[str, Any]:
    """The last record that `command`, followed by the job's file, prints."""
    paths = {"PYTHONPATH": f"{HERE.parents[1]}{os.pathsep}{HERE.parent}"}  # of this project and of `contestants`
    environment = os.environ | paths | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.json")
        path.write_text(json.dumps(given), encoding="utf-8")
        said = subprocess.run([*command, str(path)], capture_output=True, text=True, env=environment)
    if said.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{said.stderr[-3000:]}")
    return dict(json.loads(next(line for line in reversed(said.stdout.splitlines()) if line.startswith("{"))))
