"""A contestant's turn: a process of its own, given a job file, that answers with a line of figures."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pipeline import cli  # noqa: F401 (it says how OpenMP's threads wait, of every contestant alike)

HERE = Path(__file__).parent
OURS, PEERS = "pipeline", ("hugging_face", "eole")
TRIALS, TRIAL, BEFORE = 3, 150, 50  # turns of each, timed updates of a turn, and untimed ones, in which kernels compile


def run(command: list[str], given: dict[str, Any], threads: int) -> dict[str, Any]:
    """The last record that `command`, followed by the job's file, prints."""
    paths = {"PYTHONPATH": f"{HERE.parents[1]}{os.pathsep}{HERE.parent}"}  # of this project and of `contestants`
    environment = os.environ | paths | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.json")
        path.write_text(json.dumps(given), encoding="utf-8")
        said, errors, status = waited_for([*command, str(path)], environment)
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{errors[-3000:]}")
    return dict(json.loads(next(line for line in reversed(said.splitlines()) if line.startswith("{"))))


def waited_for(command: list[str], environment: dict[str, str]) -> tuple[str, str, int]:
    """What a command prints, its errors, its exit status; if this process is stopped, so is all that it started."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as child:
        try:
            return *child.communicate(), child.wait()
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise


def end_at_sigterm() -> None:
    """Let SIGTERM end this process as an error does, so that what runs is stopped too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def contestants(peers: Path | None, only: str) -> dict[str, str]:
    """The Python of each."""
    found = {OURS: sys.executable} | (dict.fromkeys(PEERS, str(peers.absolute())) if peers else {})
    if only and only not in found:
        sys.exit(f"--only: got {only!r}; expected one of {', '.join(found)}")
    return {only: found[only]} if only else found


def try_out(
    pythons: dict[str, str], training: dict[str, Any], threads: int, *, updates: int = TRIAL
) -> dict[str, tuple[int, float]]:
    """The target tokens and the seconds of each contestant's turns together, of so many updates each."""
    tried = dict.fromkeys(pythons, (0, 0.0))
    for turn in range(TRIALS):
        short = {"updates": updates, "warm_up": BEFORE, "peak_rate": 0.0, "seed": training["seed"] + turn}
        for name, python in pythons.items():
            done = run(command(name, python, "training"), training | short, threads)
            tokens, seconds = tried[name]
            tried[name] = tokens + done["tokens"], seconds + done["seconds"]
    return tried


def command(name: str, python: str, task: str) -> list[str]:
    """What runs a contestant's part in `task`."""
    return [python, str(HERE / f"{name}_{task}.py")]
