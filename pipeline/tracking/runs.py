"""Tracks a run in a local log, which is always complete, and in MLflow, if it answers."""

import json
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Literal, Self

from pipeline import files, params, terminal
from pipeline.tracking.deadline import Deadline
from pipeline.tracking.registry import About
from pipeline.tracking.store import Kind, Store

MAX_JOBS = 20_000  # pending jobs at which a slow store is given up, before they fill the memory

deadline = Deadline()  # shared by all runs of this process: after its first failure no run waits for the store


def training_run(system: str, *, stage: str, fingerprint: str, log: Path, resumed_at: int) -> "Run":
    """The run of a training that starts (`resumed_at` 0) or resumes after update `resumed_at`.

    An unfinished run is continued: steps that it already holds are skipped, and earlier steps that only the local log
    holds are sent. A training from scratch opens a new run only if the last one has finished.
    """
    return Run("training", system, stage=stage, fingerprint=fingerprint, log=log, resumed_at=resumed_at)


def scoring_run(system: str, *, stage: str, fingerprint: str, log: Path) -> "Run":
    """A new child of the newest training run of `system` with the training's `fingerprint`; its log starts empty."""
    return Run("scoring", system, stage=stage, fingerprint=fingerprint, log=log)


def system_run(system: str, *, stage: str, fingerprint: str, missed: Path | None = None) -> "Run":
    """The newest training run of `system`, to add artifacts or tags to; its status does not change.

    It gets those steps of the training's local log `missed` that it lacks: a training gives up a store that fails.
    """
    return Run("system", system, stage=stage, fingerprint=fingerprint, missed=missed)


class Run:
    """One run: lines go to the local log at once, and everything goes to MLflow in a background thread.

    Nothing here raises or waits long: a failure is reported once on stderr, and the run continues without tracking. A
    number that is not finite is null in the log and left out in MLflow, which would draw infinity as 1.8e308.
    """

    def __init__(
        self,
        kind: Kind,
        system: str,
        *,
        stage: str,
        fingerprint: str,
        log: Path | None = None,
        resumed_at: int = 0,
        missed: Path | None = None,
    ) -> None:
        self.log_path, self._resumed_at, self._missed = log, resumed_at, missed
        self._log = Log(log, resumed_at) if log else None
        self._jobs: SimpleQueue[Callable[[Store], None] | None] = SimpleQueue()
        self._done = threading.Event()
        if deadline.is_over:
            self._done.set()
            return
        self._store = Store(kind, system, stage=stage, fingerprint=fingerprint, deadline=deadline)
        threading.Thread(target=self._work, name="tracking", daemon=True).start()

    def log(self, step: int, **metrics: float) -> None:
        """Log metrics of one step; several calls for one step should use different names."""
        if self._log:
            self._log.write(step, metrics)
        now = int(time.time() * 1000)
        self._do(lambda store: store.metrics(step, now, metrics))

    def params(self, values: Mapping[str, object]) -> None:
        """Log parameters, with nested names joined by dots; a parameter that the run already has keeps its value."""
        self._do(lambda store: store.params(flatten(values)))

    def dataset(self, name: str, data: Sequence[Path], counts: Mapping[str, int], path: Path | None = None) -> None:
        """Log the data that the run reads; MLflow keeps the first 36 characters of the SHA-256 of these files."""
        self._do(lambda store: store.dataset(name, data, counts, path))

    def artifact(self, path: Path, folder: str = "") -> None:
        """Log a file, or all files of a folder, below `folder` of the run; they must exist until `close`."""
        self._do(lambda store: store.artifact(path, folder))

    def table(self, name: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Log a table by its columns, to the training's run too."""
        self._do(lambda store: store.table(name, columns))

    def image(self, path: Path, name: str, step: int = 0) -> None:
        """Log a picture to be shown beside the charts, by its name and step; it must exist until `close`."""
        self._do(lambda store: store.image(path, name, step))

    def describe(self, text: str) -> None:
        """Set the description of the run and of the training's, in Markdown, unless a user has written one."""
        self._do(lambda store: store.describe(text))

    def model(self, folder: Path, about: About) -> None:
        """Log a packaged system and register it as a version of its corpus, once for the same bytes."""
        self._do(lambda store: store.model(folder, about))

    def tags(self, **values: str) -> None:
        """Set tags; they replace those of the same name."""
        self._do(lambda store: store.tags(values))

    def close(self, status: Literal["FINISHED", "FAILED", "KILLED"] = "FINISHED") -> None:
        """Send what is left and end the run; waits as long as MLflow makes progress, and no longer."""
        self._do(lambda store: store.end(status))
        self._jobs.put(None)
        if not deadline.is_over and not deadline.wait(self._done):
            self._give_up("the store did not answer in time")
        if self._log:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        asked = isinstance(error, KeyboardInterrupt | SystemExit)
        self.close("FINISHED" if kind is None else "KILLED" if asked else "FAILED")

    def _do(self, job: Callable[[Store], None]) -> None:
        if deadline.is_over:
            return
        self._jobs.put(job)
        if self._jobs.qsize() > MAX_JOBS:
            self._give_up("the store does not keep up")

    def _work(self) -> None:
        """Run in the thread: open the store, then do one job after the other until `close` or the store is given up."""
        try:
            self._store.open(self._resumed_at)
            self._catch_up()
            while not deadline.is_over:
                try:
                    job = self._jobs.get(timeout=1.0)
                except Empty:
                    job = Store.tick
                if job is None:
                    break
                job(self._store)
        except BaseException as error:  # a fault of the store must not stop the run
            self._give_up(reason(error))
        self._done.set()

    def _catch_up(self) -> None:
        """Send the steps before `resumed_at`, some of which only the local log may hold; or all that were missed."""
        path, last = (self._missed, sys.maxsize) if self._missed else (self.log_path, self._resumed_at)
        if path and path.exists() and last:
            for step, metrics in logged(path, last):
                self._store.metrics(step, self._store.created, metrics)

    def _give_up(self, what: str) -> None:
        if deadline.give_up():
            rest = f"the local log {self.log_path} goes on" if self.log_path else "the stage goes on without it"
            print(terminal.printable(f"tracking: {what}; {rest}"), file=sys.stderr)


class NullRun(Run):
    """A run that tracks nothing, for all ranks of a training but rank 0."""

    def __init__(self) -> None:
        pass

    def log(self, step: int, **metrics: float) -> None:
        """Do nothing."""

    def close(self, status: Literal["FINISHED", "FAILED", "KILLED"] = "FINISHED") -> None:
        """Do nothing."""

    def _do(self, job: Callable[[Store], None]) -> None:
        pass


class Log:
    """JSON lines `{"step": n, name: number, ...}`, each handed to the system at once."""

    def __init__(self, path: Path, resumed_at: int) -> None:
        self.path, self._file = path, -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            cut(path, resumed_at)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except (OSError, files.DataError) as error:
            self._give_up(error)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append one line; after the first failure (a full disk) do nothing."""
        if self._file < 0:
            return
        finite = {name: float(value) if math.isfinite(value) else None for name, value in metrics.items()}
        line = (json.dumps({"step": step, **finite}) + "\n").encode()
        try:
            written = os.write(self._file, line)
            if written < len(line):
                os.write(self._file, line[written:])  # raises what cut the first one short
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _give_up(self, error: Exception) -> None:
        self.close()
        text = f"tracking: the local log {self.path} ends here: {reason(error)}; the run goes on"
        print(terminal.printable(text), file=sys.stderr)


def flatten(values: Mapping[str, object]) -> dict[str, str]:
    """Nested mappings as one flat mapping, names joined by dots, values as text."""
    return {name: str(value) for name, value in params.flatten(values).items()}


def cut(path: Path, resumed_at: int) -> None:
    """Remove from a log, atomically, the lines after update `resumed_at` (all lines, if it is 0) and broken lines."""
    if not path.exists():
        return
    with files.new_file(path, "wb") as file, path.open("rb") as old:
        file.writelines(line for line in old if 0 <= step_of(line) <= resumed_at and resumed_at > 0)


def logged(path: Path, last: int) -> Iterator[tuple[int, dict[str, float]]]:
    """Step and metrics of each intact line of a log up to update `last`."""
    with path.open("rb") as lines:
        for line in lines:
            if 0 <= (step := step_of(line)) <= last:
                metrics = {name: value for name, value in json.loads(line).items() if value is not None}
                del metrics["step"]
                yield step, metrics


def step_of(line: bytes) -> int:
    """The step of a line of a log, -1 if the line is broken."""
    try:
        return int(json.loads(line)["step"]) if line.endswith(b"\n") else -1
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return -1


def reason(error: BaseException) -> str:
    """Class and first line of an error, shortened for a warning, without passwords and control characters."""
    first = next(iter(str(error).splitlines()), "")
    clean = "".join(letter if letter.isprintable() else "?" for letter in re.sub(r"//[^/@\s]+@", "//", first)[:200])
    return f"{type(error).__name__}: {clean}" if clean else type(error).__name__
