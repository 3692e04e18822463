"""The stage `download` run thousands of times: by a process that has imported it once and forks for every run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

WORKER = """
import functools, os, sys
import typer
from pipeline import cli
from pipeline.corpora import transfer
import stages.download as stage

transfer.FILE_BYTES = 256 << 20  # not 64 GiB: what never ends would fill the disk of who tries it
stage.Store = functools.partial(stage.Store, timeout_seconds=float(sys.argv[1]), attempts=2, pause_seconds=0.01)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.chdir(line.rstrip("\\n"))
        out = os.open("said.txt", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.argv = ["download", "toy"]
        cli.run(stage.main)
    _, status, usage = os.wait4(child, 0)
    print(os.waitstatus_to_exitcode(status), usage.ru_maxrss // 1024, flush=True)
"""


class Done(NamedTuple):
    """How a run ended: its status, all it said, and its peak memory in MiB."""

    status: int
    said: str
    peak: int


class Downloads:
    """Runs the stage in any folder, with little patience."""

    def __init__(self, worker: "subprocess.Popen[str]") -> None:
        self.worker = worker

    def run(self, folder: Path) -> Done:
        """One run, in a process of its own."""
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        self.worker.stdin.write(f"{folder}\n")
        self.worker.stdin.flush()
        status, peak = map(int, self.worker.stdout.readline().split())
        return Done(status, (folder / "said.txt").read_text(errors="backslashreplace"), peak)


@contextmanager
def downloading(project_root: Path, timeout_seconds: float = 1.0) -> Iterator[Downloads]:
    """The process that forks, until the block ends."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CORPUS_MIRROR", "SACREBLEU")}
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(timeout_seconds)],
        env={**environment, "PYTHONPATH": str(project_root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Downloads(worker)
    finally:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait(30)
