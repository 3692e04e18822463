"""`nmt repro`: `dvc repro`, several systems at the same time."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, NoReturn

import typer

from pipeline import device
from pipeline.commands import project
from pipeline.commands.check import check
from pipeline.encoding.budget import Training
from pipeline.files import DataError
from pipeline.system import AXES, Build, System

DVC = (sys.executable, "-m", "dvc")
STAGES = ("train", "average", "decode", "score", "attend")  # of one system, in an order in which they can run
# Lines that DVC prints after every stage and every command; those of the last command are enough.
REPEATED = (
    "Updating lock file",
    "To track the changes with git",
    "\tgit add",
    "To enable auto staging",
    "\tdvc config core.autostage",
    "Use `dvc push`",
)


def repro(
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Systems built at the same time; by default as many as the cores are enough for."),
    ] = None,
) -> None:
    """Build every system that params.yaml chooses, several at the same time, after `nmt check`.

    The result is that of `dvc repro`, byte for byte. DVC runs one stage after the other, so this runs one `dvc repro`
    for each system, as many at a time as the cores allow. `training.<corpus>.threads` says how many cores a training
    takes. If it takes all of them (0), or on a GPU, systems are built one at a time.
    """
    project.check_here()
    check()
    build = Build.load("build")
    if is_up_to_date():
        print("Data and pipelines are up to date.")
        return
    number = min(jobs or affordable(build), len(build.systems()))
    if number > 1:
        run("repro", *(f"encode@{corpus}-{words}" for corpus in build.corpora for words in build.vocabularies))
        ParallelBuild(build, number).run()
    run("repro")


def affordable(build: Build) -> int:
    """How many trainings at a time the cores of this machine allow."""
    from pipeline.training.launch import PROCESSES  # torchrun, which other commands need not wait for

    if device.best().type == "cuda" or PROCESSES in os.environ:
        return 1
    threads = [Training.load_all("training.default", f"training.{corpus}").threads for corpus in build.corpora]
    return max(1, cores() // (max(threads) if all(threads) else cores()))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_up_to_date() -> bool:
    """Whether `dvc repro` would run nothing; False if DVC fails to tell, as it says why when it runs."""
    from dvc.exceptions import DvcException  # a second, which no other command needs
    from dvc.repo import Repo

    try:
        return not Repo().status()
    except DvcException:
        return False


def run(*arguments: str) -> None:
    """Run a `dvc` command.

    Raises: SystemExit with its status if it fails; it has printed why.
    """
    if status := subprocess.run([*DVC, *arguments], check=False).returncode:
        sys.exit(status if status > 0 else 128 - status)


class ParallelBuild:
    """Builds the systems of a build, `number` at a time, each by its own `dvc repro`."""

    def __init__(self, build: Build, number: int) -> None:
        self.build, self.number = build, number
        self.environment = {"OMP_NUM_THREADS": str(max(1, cores() // number))} | os.environ
        self.running: set[subprocess.Popen[str]] = set()
        self.failed: list[str] = []
        self.ended = False  # no further system is started
        self.lock = threading.Lock()  # guards `running`, `failed`, `ended`, and keeps printed lines whole

    def run(self) -> None:
        """Build all of them; after a failure or a signal no further system is started.

        Raises: DataError naming the systems that failed, once the running ones are done.
        """
        before = signal.signal(signal.SIGTERM, self.terminate)
        try:
            with ThreadPoolExecutor(self.number) as pool:
                try:
                    list(pool.map(self.build_one, self.build.systems()))
                except BaseException:
                    self.ended = True
                    raise
        finally:
            signal.signal(signal.SIGTERM, before)
        if self.failed:
            raise DataError(f"{', '.join(self.failed)}: not built, as said above; `nmt repro` goes on from there")

    def build_one(self, system: System) -> None:
        """Build one system, unless the build is ending; its name is printed before every line."""
        label = self.label(system)
        # Only these stages: while one runs, DVC lets no other `dvc` check the stages that wrote its inputs.
        command = [*DVC, "--wait-for-lock", "repro", "--single-item", *(f"{stage}@{system.id}" for stage in STAGES)]
        with self.lock:
            if self.ended:
                return
            process = subprocess.Popen(
                command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            self.running.add(process)
        if self.ended:  # a signal came before the process was in `running`
            process.terminate()
        assert process.stdout
        for line in process.stdout:
            if line.strip() and not line.startswith(REPEATED):
                with self.lock:
                    print(f"{label} | {line}", end="", flush=True)
        status = process.wait()
        with self.lock:
            self.running.remove(process)
            if status:
                self.ended = True
                self.failed.append(system.id)

    def label(self, system: System) -> str:
        """The parts of a system's id in which the build's systems differ."""
        choices = [getattr(self.build, section) for section in AXES]
        return "-".join(name for name, others in zip(system, choices, strict=True) if len(others) > 1) or system.model

    def terminate(self, *_: object) -> NoReturn:
        """Pass SIGTERM on: unlike a terminal's Ctrl-C, it reaches this process only."""
        self.ended = True
        for process in list(self.running):
            process.terminate()
        sys.exit(128 + signal.SIGTERM)
