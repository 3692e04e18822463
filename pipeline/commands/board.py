"""What `nmt repro` shows: a line for each finished stage; what runs, live at a terminal and now and then elsewhere."""

import os
import threading
import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from pipeline import events, progress
from pipeline.commands import outcome
from pipeline.system import SEED, Build
from pipeline.terminal import printable

WIDEST = 44  # columns of an item's name in a line; of longer ones the end is shown
# What DVC says of every stage and every command: the lines of finished stages say it in fewer words.
QUIET = (
    "Running stage '",
    "> python -m stages.",
    "Stage '",
    "Verifying data sources",
    "Generating lock file",
    "Updating lock file",
    "To track the changes with git",
    "\tgit add",
    "To enable auto staging",
    "\tdvc config core.autostage",
    "Use `dvc push`",
    "Data and pipelines are up to date.",
    "WARNING: 'data/vocabulary/",  # ...seen_words.txt' is empty: the corpus has many words
)
REPRODUCE = "ERROR: failed to reproduce '"  # what DVC says of a stage that has said itself why it failed


class HowFar(ProgressColumn):
    """What a stage says of its progress; until then, how long it has been at it."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["how_far"] or progress.clock(task.elapsed or 0.0), no_wrap=True)


class Board:
    """The lines of one `nmt repro`; several threads may write."""

    def __init__(self, build: Build) -> None:
        self.build, self.console = build, Console()
        self.lock = threading.RLock()
        self.done: set[str] = set()  # stages that ran to their end
        systems = build.all_systems()
        names = [*build.corpora, *(outcome.label(build, system.id) for system in systems)]
        self.width = min(WIDEST, max(map(len, names)))
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=6), HowFar())
        self.live = Progress(*columns, console=self.console, transient=True)

    def __enter__(self) -> Self:
        if self.console.is_interactive:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_interactive:  # elsewhere it would print an empty line
            self.live.stop()

    def name(self, stage: str) -> str:
        """What a stage's lines call its item."""
        return outcome.label(self.build, stage.partition("@")[2])

    def say(self, text: str) -> None:
        """Show a line, above what runs."""
        with self.lock:
            self.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def row(self, stage: str, seconds: float | None, text: str) -> None:
        """Show a line about a stage: its kind, its item, its time and some words."""
        name = self.name(stage)
        name = name if len(name) <= self.width else f"…{name[-self.width + 1 :]}"
        taken = "" if seconds is None else progress.clock(seconds)
        self.say(f"{kind(stage):10}  {name:{self.width}}  {taken:>7}  {text}".rstrip())


def kind(stage: str) -> str:
    """What a stage's lines call it: the name of its script; its item says the seed."""
    return stage.partition("@")[0].removesuffix(SEED)


class Lane:
    """What one `dvc repro` says, line by line; it runs one stage after the other."""

    def __init__(self, board: Board, prefix: str) -> None:
        self.board, self.prefix = board, prefix
        self.running: str | None = None
        self.failed: str | None = None
        self.task: TaskID | None = None
        self.shown = time.monotonic()  # when progress was last shown, or the stage began

    def hear(self, line: str) -> None:
        """Take in one line: an event of a stage, or anything else, which is shown unless it is DVC's routine."""
        if event := events.parse(line):
            kinds = {"began": self.began, "progress": self.progressed, "ended": self.ended}
            with self.board.lock:
                kinds[event["kind"]](event)
        elif line.strip() and not line.startswith(QUIET) and not (self.failed and line.startswith(REPRODUCE)):
            self.board.say(f"{self.prefix}{line.rstrip()}")

    def began(self, event: dict[str, Any]) -> None:
        """A stage begins."""
        self.running, self.shown = event["stage"], time.monotonic()
        about = f"{kind(self.running)} {self.board.name(self.running)}"
        self.task = self.board.live.add_task(about, total=None, how_far="")

    def progressed(self, event: dict[str, Any]) -> None:
        """A stage is so far."""
        left = event["left"]
        if self.task is not None:
            words = [
                *([] if event["total"] is None else [f"{event['done']:,}/{event['total']:,}"]),
                event["about"],
                *([] if left is None else [f"{progress.clock(left)} left"]),
            ]
            self.board.live.update(self.task, completed=event["done"], total=event["total"], how_far="  ".join(words))
        now = time.monotonic()
        if not self.board.console.is_interactive and now - self.shown >= progress.PLAIN_SECONDS:
            self.shown = now
            name = self.board.name(event["stage"]) or event["stage"]
            numbers = (event["done"], event["total"], event["unit"], event["about"], left)
            self.board.say(progress.line(name, *numbers))

    def ended(self, event: dict[str, Any]) -> None:
        """A stage is over; why it failed is said after this, and by whom it was called when its process has ended."""
        self.close()
        if event["ok"]:
            self.running = None
            self.board.done.add(event["stage"])
            self.board.row(event["stage"], event["seconds"], outcome.of(event["stage"]))
        else:
            self.failed = event["stage"]

    def close(self) -> None:
        """Nothing of this lane runs any more."""
        if self.task is not None:
            self.board.live.remove_task(self.task)
            self.task = None

    def over(self, status: int, *, asked: bool) -> None:
        """The `dvc` is over: if it failed, or was asked to end, say so of the stage that ran, with what repeats it."""
        with self.board.lock:
            self.close()
            if status and (stage := self.failed or self.running):
                self.board.row(stage, None, "stopped" if asked else "failed, as said above")
                self.board.say(f"repeat it with: {os.environ.get(outcome.BUILDER) or f'dvc repro {stage}'}")
