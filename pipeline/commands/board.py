"""What `nmt repro` shows: a line for each finished stage and, at a terminal, a live row for each that runs."""

import threading
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ..common import files
from ..common.system import Build
from ..console import progress
from ..console.printing import printable
from .summary import TIMES, label, read_times

REFRESH_SECONDS = 0.5


class Board:
    """The lines of one `nmt repro`; several threads may write them."""

    def __init__(self, build: Build) -> None:
        self.build, self.console = build, Console(soft_wrap=True, highlight=False, markup=False)
        self.lock = threading.RLock()
        self.width = max(len(label(build, system.id)) for system in build.systems())
        self.num_finished = 0
        self.running: dict[str, tuple[TaskID, float]] = {}  # stage -> its row, and when it began
        self.words: dict[str, str] = {}  # what it last said of its progress
        self.over = threading.Event()
        self.ticker = threading.Thread(target=self.refresh, daemon=True)
        self.live = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=6),
            TimeElapsedColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )

    def __enter__(self) -> Self:
        self.live.start()
        self.ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.ticker.join()
        self.live.stop()

    def say(self, text: str) -> None:
        """Show a line, above the live rows."""
        with self.lock:
            self.console.print(printable(text))

    def row(self, stage: str, seconds: float | None, words: str) -> None:
        """Show a line about a stage: its kind, its item, its time and some words."""
        kind, _, item = stage.partition("@")
        clock = "" if seconds is None else progress.clock(seconds)
        self.say(f"{kind:10}  {label(self.build, item):{self.width}}  {clock:>7}  {words}".rstrip())

    def began(self, stage: str) -> None:
        """Add a live row."""
        kind, _, item = stage.partition("@")
        with self.lock:
            task = self.live.add_task(f"{kind} {label(self.build, item)}", total=None, words="")
            self.running[stage], self.words[stage] = (task, time.monotonic()), ""

    def ended(self, stage: str, *, ok: bool) -> None:
        """Replace the live row by a line, and note how long a training took."""
        kind, _, item = stage.partition("@")
        with self.lock:
            task, began = self.running.pop(stage)
            seconds = time.monotonic() - began
            self.live.remove_task(task)
            self.num_finished += ok
            words = self.words[stage] if kind == "train" else ""
            self.row(stage, seconds, words if ok else f"failed; repeat it with: dvc repro {stage}")
            if kind == "train":
                times = read_times()
                spent = times["stopped"].pop(item, 0.0) + seconds
                times["trained" if ok else "stopped"][item] = spent
                files.write_json(TIMES, times)

    def refresh(self) -> None:
        """Bring the live rows up to date, until all is over; where there is no terminal, print lines now and then."""
        shown = time.monotonic()
        while not self.over.wait(REFRESH_SECONDS):
            is_due = not self.console.is_terminal and time.monotonic() - shown >= progress.PLAIN_SECONDS
            shown = time.monotonic() if is_due else shown
            with self.lock:
                for stage in self.running:
                    path = progress.FOLDER / f"{stage}.json"
                    try:
                        state = files.read_json(path) if path.exists() else None
                    except (files.DataError, OSError):  # it has just ended
                        state = None
                    if not state:
                        continue
                    done, total, left = (state[key] for key in ("done", "total", "left"))
                    count = f"{done:,}/{total:,}  " if total else ""
                    rest = f"  {progress.clock(left)} left" if left is not None else ""
                    self.words[stage] = state["about"]
                    words = f"{count}{state['about']}{rest}"
                    self.live.update(self.running[stage][0], completed=done, total=total, words=words)
                    if is_due:
                        self.row(stage, None, words)
