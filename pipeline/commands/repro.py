"""`nmt repro`: `dvc repro`, several systems at the same time."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn

import psutil
import typer

from ..common.files import DataError
from ..common.params import read_yaml
from ..common.system import Build, System, corpus_file
from ..compute import cores, device
from ..console import progress
from ..console.printing import printable
from ..training.budget import Training
from . import catalogue, project, summary
from .board import Board

DVC = (sys.executable, "-m", "dvc")
RUNNING, ENDED = "Running stage '", ("Updating lock file", "Generating lock file")  # what DVC says of a stage
# Lines of standard error that the board does not show: progress, which it has itself, and what is as usual.
ROUTINE = re.compile(
    r"\S+  (update )?[\d,.]+[/ ]|diagnosis of .*  nothing unusual$|"
    "(Successfully registered|Registered|Created version .* of) model"
)
KILLED = " (killed, as when memory runs out: `--jobs 1` or a lower `tokens_per_batch` needs less)"
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
        lanes = min(jobs or affordable(build), len(build.systems()))
        began = time.monotonic()
        with Board(build) as board:
            announce(board, changed or {}, lanes)
            Builder(board, lanes).build(build)
            board.say(
                f"stages: {board.num_finished} ran in {progress.clock(time.monotonic() - began)}; the rest is unchanged"
            )
    print("\n".join(map(printable, summary.lines(build))))


def changed_stages() -> dict[str, Any] | None:
    """The stages whose inputs or outputs have changed; None if DVC cannot say, as it explains when it runs."""
    status = subprocess.run([*DVC, "status", "--json"], capture_output=True, text=True, check=False)
    try:
        return dict(json.loads(status.stdout)) if status.returncode == 0 else None
    except ValueError:
        return None


def affordable(build: Build) -> int:
    """How many trainings at a time the cores and the free memory of this machine allow."""
    if device.best().type == "cuda" or "TRAIN_PROCESSES" in os.environ:
        return 1
    threads = [Training.load("training", f"{corpus_file(corpus)}:training").threads for corpus in build.corpora]
    by_cores = cores.count() // max(threads) if all(threads) else 1
    return max(1, min(by_cores, psutil.virtual_memory().available // LANE_BYTES))


def announce(board: Board, changed: Iterable[str], lanes: int) -> None:
    """Say how many trainings will run, and how long they took last time."""
    systems = to_train(board.build, changed)
    times = summary.read_times()["trained"]
    known = [times[system.id] for system in systems if system.id in times]
    if systems:
        minutes = f", about {max(1, round(sum(known) / len(known) * len(systems) / lanes / 60))} min" if known else ""
        board.say(f"trainings to run: {len(systems)}{minutes}")


def to_train(build: Build, changed: Iterable[str]) -> list[System]:
    """The systems whose training, or a stage of the data that it reads, has changed."""
    parts = [stage.partition("@") for stage in changed]
    items = [item for name, _, item in parts if name == "train" or item.count("-") in (0, 1)]
    return [
        system for system in build.systems() if f"{system.id}-".startswith(tuple(f"{one}-" for one in items if one))
    ]


class Builder:
    """Runs `dvc repro` in so many lanes, and shows on a board what the stages say."""

    def __init__(self, board: Board, lanes: int) -> None:
        self.board, self.lanes = board, lanes
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        self.environment = os.environ | {"PATH": path}  # dvc.yaml says only `python`
        self.processes: set[subprocess.Popen[str]] = set()
        self.stopped = False  # nothing more is started
        self.lock = threading.RLock()  # guards both; a signal may interrupt the thread that holds it

    def build(self, build: Build) -> None:
        """Build what the systems share, the systems, and the report; after a failure nothing more is started.

        Raises: DataError if a stage failed.
        """
        before = signal.signal(signal.SIGTERM, self.terminate)
        try:
            if self.lanes > 1:
                self.run([f"encode@{corpus}-{words}" for corpus in build.corpora for words in build.vocabularies])
                with ThreadPoolExecutor(self.lanes) as pool:
                    list(pool.map(self.run_system, build.systems()))
            self.run([])
        finally:
            signal.signal(signal.SIGTERM, before)

    def run_system(self, system: System) -> None:
        """Build one system, with its share of the cores.

        Only its own stages: while one runs, DVC lets no other `dvc` check the stages that wrote its inputs.
        """
        prefix = f"{summary.label(self.board.build, system.id)} | "
        self.run(["--single-item", *system_stages(system)], prefix, threads=max(1, cores.count() // self.lanes))

    def run(self, arguments: list[str], prefix: str = "", threads: int = 0) -> None:
        """Run a `dvc repro`, unless the build is to stop; the prefix stands before each warning.

        `threads` is how many its stages may use, unless a parameter or OMP_NUM_THREADS says otherwise; 0: all cores.
        Raises: DataError if it fails.
        """
        shared = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        with self.lock:
            if self.stopped:
                return
            process = subprocess.Popen(
                [*DVC, "--wait-for-lock", "repro", *arguments],
                env=shared | self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
            self.processes.add(process)
        try:
            self.relay(process, prefix)
        except BaseException:  # nobody sees any more what this one says
            process.terminate()
            raise
        finally:
            status = process.wait()
            self.processes.discard(process)
        if status:
            self.stopped = True
            raise DataError("nmt repro: a stage failed, as said above; the same command goes on from there")

    def relay(self, process: subprocess.Popen[str], prefix: str) -> None:
        """Show which stages begin and end, and all that is written to standard error; DVC's routine is dropped."""
        assert process.stdout
        assert process.stderr
        warnings = threading.Thread(target=self.warn, args=(process.stderr, prefix))
        warnings.start()
        stage = ""
        for line in process.stdout:
            if stage and line.startswith((RUNNING, *ENDED)):
                self.board.ended(stage, ok=True)
                stage = ""
            if line.startswith(RUNNING):
                stage = line.split("'")[1]
                self.board.began(stage)
        warnings.join()
        if stage:
            self.board.ended(stage, ok=process.wait() == 0)

    def warn(self, lines: IO[str], prefix: str) -> None:
        """Show warnings and errors."""
        for line in lines:
            if line.strip() and not ROUTINE.match(line):
                self.board.say(f"{prefix}{line.rstrip()}{KILLED * line.rstrip().endswith('exited with -9')}")

    def terminate(self, *_: object) -> NoReturn:
        """Pass SIGTERM on: unlike a terminal's Ctrl-C, it reaches this process only."""
        with self.lock:
            self.stopped = True
            for process in self.processes:
                process.terminate()
        sys.exit(128 + signal.SIGTERM)


def system_stages(system: System) -> list[str]:
    """The stages of one system, in dvc.yaml's order, which is one that works."""
    stages = read_yaml(Path("dvc.yaml"))["stages"]
    return [system.stage(name) for name, stage in stages.items() if "model" in stage.get("matrix", ())]
