"""`nmt repro`: what `dvc repro` builds, several systems at the same time."""

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
# What DVC says after every stage and every command; once, by the last one, is enough.
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

    What `dvc repro` builds, with the same bytes: DVC runs one stage after the other, and several `dvc repro` at once
    each have their own. `training.threads` of a corpus says how many cores a training takes; on a GPU, or where a
    training takes all cores, there is one at a time.
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
    """How many trainings the cores of this machine are enough for."""
    from pipeline.training.launch import PROCESSES  # torchrun, which other commands need not wait for

    if device.best().type == "cuda" or PROCESSES in os.environ:
        return 1
    threads = [Training.load_all("training.default", f"training.{corpus}").threads for corpus in build.corpora]
    return max(1, cores() // (max(threads) if all(threads) else cores()))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_up_to_date() -> bool:
    """Whether `dvc repro` would run nothing; where DVC cannot tell, it will say why when it is run."""
    from dvc.exceptions import DvcException  # a second, which no other command needs
    from dvc.repo import Repo

    try:
        return not Repo().status()
    except DvcException:
        return False


def run(*arguments: str) -> None:
    """Run a `dvc` command.

    Raises: SystemExit with its status if it fails; it has said why.
    """
    if status := subprocess.run([*DVC, *arguments], check=False).returncode:
        sys.exit(status if status > 0 else 128 - status)


class ParallelBuild:
    """The systems of a build under way, so many at a time, each by a `dvc repro` of its own."""

    def __init__(self, build: Build, number: int) -> None:
        self.build, self.number = build, number
        self.environment = {"OMP_NUM_THREADS": str(max(1, cores() // number))} | os.environ
        self.running: set[subprocess.Popen[str]] = set()
        self.failed: list[str] = []
        self.ended = False  # nothing is started any more
        self.lock = threading.Lock()  # of `running`, `failed` and `ended`, and of whole lines

    def run(self) -> None:
        """Build all of them. What has failed, or a signal, lets no other one begin.

        Raises: DataError naming the systems that failed, once the others under way are done.
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
        """Build one system, unless all is to end; every line of it is shown behind its name."""
        label = self.label(system)
        # Only these stages: while one runs, DVC lets no other `dvc` look at the stages that made what it reads.
        command = [*DVC, "--wait-for-lock", "repro", "--single-item", *(f"{stage}@{system.id}" for stage in STAGES)]
        with self.lock:
            if self.ended:
                return
            process = subprocess.Popen(
                command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            self.running.add(process)
        if self.ended:  # by a signal meanwhile, which could not end it yet
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
        """The names of a system that tell it from the others of the build."""
        choices = [getattr(self.build, section) for section in AXES]
        return "-".join(name for name, others in zip(system, choices, strict=True) if len(others) > 1) or system.model

    def terminate(self, *_: object) -> NoReturn:
        """Pass SIGTERM on: a terminal's Ctrl-C reaches them all, this one only us."""
        self.ended = True
        for process in list(self.running):
            process.terminate()
        sys.exit(128 + signal.SIGTERM)
