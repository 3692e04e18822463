"""`nmt repro`: `dvc repro`, several systems at the same time."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn

import psutil
import typer

from ..common import cores
from ..common.files import DataError
from ..common.params import ParamsError, read_yaml
from ..common.system import Build, System, corpus_file
from ..compute import device
from ..console.printing import printable
from ..console.progress import clock
from ..training.budget import Training
from . import board, catalogue, project
from .board import Board

DVC = (sys.executable, "-m", "dvc")
# DVC's line about a stage that it runs, or leaves as it is: the one before has ended.
STAGE = re.compile("(Running stage|Stage) '(.*)'")
# Lines of standard error that the rows of a terminal show, and what is as usual.
ROUTINE = re.compile(
    r"\S+  (update )?[\d,.]+[/ ]|diagnosis of .*  nothing unusual$|"
    "(Successfully registered|Registered|Created version .* of) model"
)
KILLED = " (killed, as when memory runs out: `--jobs 1` or a lower `tokens_per_batch` needs less)"
LOCK = Path("dvc.lock")
LANE_BYTES = 3 << 29  # 1.5 GiB: a training of size `small`, and the DVC that runs it


def repro(
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Systems built at the same time; by default as many as cores and memory allow."),
    ] = None,
) -> None:
    """Build every system that params.yaml chooses, several at the same time, after `nmt check`.

    The result is that of `dvc repro`, which runs one stage after the other. This runs one `dvc repro` for each system,
    as many at a time as cores and free memory allow: `training.threads` says how many cores a training takes. If it
    takes all of them (0), or on a GPU, systems are built one at a time.
    """
    project.check_here()
    catalogue.check()
    build = Build.load("build")
    changed = changed_stages()
    if changed == {}:
        print("Data and pipelines are up to date.")
    else:
        lanes, began = min(jobs or affordable(build), len(build.systems())), time.monotonic()
        shown = Board(build)
        with shown.live:
            Builder(shown, lanes).run_all(changed)
        shown.say(f"stages: {shown.num_finished} ran in {clock(time.monotonic() - began)}; the rest is unchanged")
    print("\n".join(map(printable, board.summary(build))))


def changed_stages() -> dict[str, Any]:
    """The stages whose inputs or outputs have changed, as DVC tells them.

    Raises: DataError with DVC's last words if it cannot read its files.
    """
    status = subprocess.run([*DVC, "--wait-for-lock", "status", "--json"], capture_output=True, text=True, check=False)
    if status.returncode:
        raise DataError(lock_fault() or f"dvc status: {status.stderr.strip() or status.stdout.strip()}")
    return dict(json.loads(status.stdout))


def lock_fault() -> str | None:
    """What to do about a dvc.lock that a kill or a full disk has cut off; None if it is whole."""
    with contextlib.suppress(ParamsError):
        if not LOCK.exists() or "stages" in read_yaml(LOCK):
            return None
    return f"{LOCK}: is cut off, as by a kill; delete it and repeat: what was built comes from DVC's cache"


def affordable(build: Build) -> int:
    """How many trainings at a time the cores and the free memory of this machine allow."""
    if device.best().type == "cuda" or "TRAIN_PROCESSES" in os.environ:
        return 1
    threads = [Training.load("training", f"{corpus_file(corpus)}:training").threads for corpus in build.corpora]
    by_cores = cores.count() // max(threads) if all(threads) else 1
    return max(1, min(by_cores, psutil.virtual_memory().available // LANE_BYTES))


def to_train(build: Build, changed: Mapping[str, Any]) -> list[System]:
    """The systems whose training has other inputs; outputs that are only missing come from DVC's cache."""
    entries = {system: changed.get(system.stage("train"), ()) for system in build.systems()}
    return [system for system, faults in entries.items() if any({*fault} - {"changed outs"} for fault in faults)]


class Builder:
    """Runs `dvc repro` in so many lanes, and shows on a board what the stages say."""

    def __init__(self, shown: Board, lanes: int) -> None:
        self.board, self.build, self.lanes = shown, shown.build, lanes
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        self.environment = os.environ | {"PATH": path}  # dvc.yaml says only `python`
        self.processes: list[subprocess.Popen[str]] = []
        self.stopped = False  # nothing more is started
        self.lock = threading.RLock()  # guards both; a signal may interrupt the thread that holds it

    def run_all(self, changed: Mapping[str, Any]) -> None:
        """Build what the systems share, the systems, and the report; after a failure nothing more is started.

        Raises: DataError if a stage failed.
        """
        before = signal.signal(signal.SIGTERM, self.terminate)
        try:
            # Which trainings run is known once the data is there: the same data as before trains nothing again.
            if any("@" in stage and stage.count("-") < 2 for stage in changed):
                self.run([f"encode@{one}-{words}" for one in self.build.corpora for words in self.build.vocabularies])
                changed = changed_stages()
            if systems := to_train(self.build, changed):
                self.board.say(f"trainings to run: {len(systems)}")
            if self.lanes > 1:
                with ThreadPoolExecutor(self.lanes) as pool:
                    list(pool.map(self.run_system, self.build.systems()))
            self.run([])
        finally:
            signal.signal(signal.SIGTERM, before)

    def run_system(self, system: System) -> None:
        """Build one system, with its share of the cores.

        Only its own stages, in dvc.yaml's order: while one runs, DVC lets no other `dvc` check the stages that wrote
        its inputs.
        """
        stages = read_yaml(Path("dvc.yaml"))["stages"].items()
        own = [system.stage(name) for name, stage in stages if "model" in stage.get("matrix", ())]
        prefix = f"{board.label(self.build, system.id)} | "
        self.run(["--single-item", *own], prefix, threads=max(1, cores.count() // self.lanes))

    def run(self, arguments: list[str], prefix: str = "", threads: int = 0) -> None:
        """Run a `dvc repro`, unless the build is to stop; the prefix stands before each warning.

        `threads` is how many its stages may use, unless a parameter or OMP_NUM_THREADS says otherwise; 0: all cores.
        Raises: DataError if it fails.
        """
        shared = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        command, environment = [*DVC, "--wait-for-lock", "repro", *arguments], shared | self.environment
        with self.lock:
            if self.stopped:
                return
            pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "errors": "replace"}
            process = subprocess.Popen(command, env=environment, encoding="utf-8", **pipes)
            self.processes.append(process)
        try:
            self.relay(process, prefix)
        except BaseException:  # nobody sees any more what this one says
            process.terminate()
            raise
        finally:
            status = process.wait()
        if status:
            self.stopped = True
            raise DataError(
                lock_fault() or "nmt repro: a stage failed, as said above; the same command goes on from there"
            )

    def relay(self, process: subprocess.Popen[str], prefix: str) -> None:
        """Show which stages begin and end, and what is written to standard error; DVC's routine is dropped."""
        assert process.stdout
        warnings = threading.Thread(target=self.warn, args=(process.stderr, prefix))
        warnings.start()
        stage = ""
        for line in process.stdout:
            if match := STAGE.match(line):
                if stage:
                    self.board.ended(stage, ok=True)
                stage = match[2] if match[1] == "Running stage" else ""
                self.board.running |= {stage: time.monotonic()} if stage else {}
        warnings.join()
        if stage:
            self.board.ended(stage, ok=process.wait() == 0)

    def warn(self, lines: IO[str], prefix: str) -> None:
        """Show warnings and errors; where no rows are shown, progress too."""
        for line in map(str.rstrip, lines):
            if line and not (self.board.console.is_terminal and ROUTINE.match(line)):
                self.board.say(f"{prefix}{line}{KILLED * line.endswith('exited with -9')}")

    def terminate(self, *_: object) -> NoReturn:
        """Pass SIGTERM on: unlike a terminal's Ctrl-C, it reaches this process only."""
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.terminate()
        sys.exit(128 + signal.SIGTERM)
