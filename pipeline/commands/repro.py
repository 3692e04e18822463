"""`nmt repro`: `dvc repro`, several systems at the same time."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Annotated, NoReturn

import psutil
import typer

from pipeline import cores, device, events, progress
from pipeline.commands import dag, outcome, project
from pipeline.commands.board import Board, Lane
from pipeline.commands.check import check
from pipeline.encoding.budget import Training
from pipeline.files import DataError
from pipeline.system import Build, System
from pipeline.terminal import printable

DVC = (sys.executable, "-m", "dvc")
STAGES = ("train", "average", "decode", "score", "attend", "package")  # of one system, in an order that works
SEED_STAGES = STAGES[:4]  # of a further seed
LANE_BYTES = 3 << 29  # 1.5 GiB: a training of size `small`, and the DVC that runs it


def repro(
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Systems built at the same time; by default as many as cores and memory allow."),
    ] = None,
) -> None:
    """Build every system that params.yaml chooses, several at the same time, after `nmt check`.

    The result is that of `dvc repro`, byte for byte, unless --jobs is above 1 and `threads` is 0, or the processor adds
    up otherwise with fewer threads in a search (none that we tried does). DVC runs one stage after the other, so this
    runs one `dvc repro` for each system, as many at a time as cores and free memory allow. `training.<corpus>.threads`
    says how many cores a training takes. If it takes all of them (0), or on a GPU, systems are built one at a time.
    """
    project.check_here()
    check()
    build = Build.load("build")
    if is_up_to_date():
        print("Data and pipelines are up to date.")
    else:
        number = min(jobs or affordable(build), len(build.all_systems()))
        with Board(build) as board:
            Builder(board, build, number).run()
    for line in outcome.summary(build):
        print(printable(line))


def affordable(build: Build) -> int:
    """How many trainings at a time the cores and the free memory of this machine allow."""
    from pipeline.training.launch import PROCESSES  # torchrun, which other commands need not wait for

    if device.best().type == "cuda" or PROCESSES in os.environ:
        return 1
    threads = [Training.load_all("training.default", f"training.{corpus}").threads for corpus in build.corpora]
    by_cores = cores.count() // (max(threads) if all(threads) else cores.count())
    return max(1, min(by_cores, psutil.virtual_memory().available // LANE_BYTES))


def is_up_to_date() -> bool:
    """Whether `dvc repro` would run nothing; False if DVC fails to tell, as it says why when it runs."""
    from dvc.exceptions import DvcException  # a second, which no other command needs
    from dvc.repo import Repo

    try:
        return not Repo().status()
    except DvcException:
        return False


class Builder:
    """Builds all that a build chooses: what the systems share, then `number` systems at a time, then the report."""

    def __init__(self, board: Board, build: Build, number: int) -> None:
        self.board, self.build, self.number = board, build, number
        self.environment = os.environ | {events.VARIABLE: "1", "PATH": project.search_path()}
        self.running: set[subprocess.Popen[str]] = set()
        self.failed: list[str] = []
        self.ended = False  # no further system is started
        self.asked = False  # by a signal
        self.lock = threading.Lock()  # guards `running`, `failed`, `ended`

    def run(self) -> None:
        """Build it; after a failure or a signal nothing else is started, and what runs is waited for.

        Raises: DataError naming the systems that failed; SystemExit with DVC's status if it was not a system.
        """
        before = signal.signal(signal.SIGTERM, self.terminate)
        began = time.monotonic()
        try:
            if self.number > 1:
                shared = [
                    f"encode@{corpus}-{words}" for corpus in self.build.corpora for words in self.build.vocabularies
                ]
                self.run_alone(*shared)
                self.run_systems()
            self.run_alone()
        finally:
            signal.signal(signal.SIGTERM, before)
        number, ran = sum(kind.number for kind in dag.kinds(self.build)), len(self.board.done)
        rest = f"; {number - ran} unchanged or from DVC's cache" if number > ran else ""
        self.board.say(f"stages: {ran} ran in {progress.clock(time.monotonic() - began)}{rest}")

    def run_alone(self, *targets: str) -> None:
        """One `dvc repro` of these stages, without any of all, while no other runs.

        Raises: SystemExit with its status if it fails.
        """
        with self.pool(1) as pool:
            status = pool.submit(self.dvc, "", "repro", *targets).result()
        if status:
            sys.exit(status if status > 0 else 128 - status)

    def run_systems(self) -> None:
        """All systems.

        Raises: DataError naming those that failed, once the running ones are done.
        """
        with self.pool(self.number) as pool:
            list(pool.map(self.build_one, self.build.all_systems()))
        if self.failed:
            raise DataError(f"{', '.join(self.failed)}: not built, as said above; `nmt repro` goes on from there")

    @contextmanager
    def pool(self, number: int) -> Iterator[ThreadPoolExecutor]:
        """So many threads, which keep reading what DVC says while a signal ends this one."""
        with ThreadPoolExecutor(number) as pool:
            try:
                yield pool
            except BaseException:
                self.ended = self.asked = True
                raise

    def build_one(self, system: System) -> None:
        """Build one system, unless the build is ending."""
        # Only these stages: while one runs, DVC lets no other `dvc` check the stages that wrote its inputs.
        stages = [system.stage(name) for name in (SEED_STAGES if system.seed else STAGES)]
        prefix = f"{outcome.label(self.build, system.id)} | "
        threads = max(1, cores.count() // self.number)
        if self.dvc(prefix, "--wait-for-lock", "repro", "--single-item", *stages, threads=threads):
            with self.lock:
                self.ended = True
                self.failed.append(outcome.label(self.build, system.id))

    def dvc(self, prefix: str, *arguments: str, threads: int | None = None) -> int:
        """Run a `dvc`, unless the build is ending; its status. The prefix stands before each line that is shown.

        `threads` is how many its stages may use, unless a parameter or the user's OMP_NUM_THREADS says otherwise;
        None: all cores.
        """
        lane = Lane(self.board, prefix)
        shared = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        with self.lock:
            if self.ended:
                return 0
            process = subprocess.Popen(
                [*DVC, *arguments],
                env=shared | self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            self.running.add(process)
        if self.asked:  # by a signal before the process was in `running`; a failure elsewhere ends nothing that runs
            process.terminate()
        assert process.stdout
        try:
            for line in process.stdout:
                lane.hear(line)
        except BaseException:  # nobody reads any more what this one prints
            self.end()
            process.communicate()  # what is still said, so that nothing waits for a reader
            raise
        finally:
            status = process.wait()
            with self.lock:
                self.running.remove(process)
        lane.over(status, asked=self.asked)
        return status

    def terminate(self, *_: object) -> NoReturn:
        """Pass SIGTERM on: unlike a terminal's Ctrl-C, it reaches this process only."""
        self.end()
        sys.exit(128 + signal.SIGTERM)

    def end(self) -> None:
        """Start nothing more, and ask what runs to end."""
        self.ended = self.asked = True
        for process in list(self.running):
            process.terminate()
