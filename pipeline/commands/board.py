"""Lines of `nmt repro`: one for each finished stage, the scores at the end and, at a terminal, rows of what runs."""

import contextlib
import shlex
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from ..common import files
from ..common.system import AXES, BEFORE, Build, System
from ..console.printing import printable
from ..console.progress import FOLDER, clock
from . import project

METRICS = Path("report/metrics.json")
SENTENCE = 50  # characters of the longest sentence that is proposed for translation


def label(build: Build, item: str) -> str:
    """An item's name among those of a build: its model and size, and what else `build` has several of."""
    names = item.split("-")
    kept = [
        n for n, axis in zip(names, AXES, strict=False) if axis in ("models", "sizes") or len(getattr(build, axis)) > 1
    ]
    return "-".join(kept) or names[-1]


class Board:
    """The lines of one build; several threads may write them."""

    def __init__(self, build: Build) -> None:
        self.build, self.console = build, Console(soft_wrap=True, highlight=False, markup=False)
        self.width = max(len(label(build, system.id)) for system in build.systems())
        self.lock = threading.Lock()
        self.num_finished = 0
        self.running: dict[str, float] = {}  # stage -> when it began
        self.live = Live(get_renderable=self.rows, console=self.console, refresh_per_second=2, transient=True)

    def say(self, text: str) -> None:
        """Show a line, above the rows."""
        self.console.print(printable(text))

    def ended(self, stage: str, *, ok: bool) -> None:
        """Show a line about a stage in place of its row."""
        kind, _, item = stage.partition("@")
        with self.lock:
            seconds = time.monotonic() - self.running.pop(stage)
            words = result(kind, item) if ok else f"failed; repeat it with: dvc repro {stage}"
            self.say(f"{kind:10}  {label(self.build, item):{self.width}}  {clock(seconds):>7}  {words}".rstrip())
            self.num_finished += ok

    def rows(self) -> Table:
        """A row for each stage that runs: how far it is, by the file that it writes."""
        table = Table.grid(*(Column(no_wrap=number < 3) for number in range(4)), padding=(0, 2))
        for stage, began in dict(self.running).items():
            state: dict[str, Any] = {}
            with contextlib.suppress(files.DataError, OSError):  # none yet, or it has just ended
                state = files.read_json(FOLDER / f"{stage}.json")
            kind, _, item = stage.partition("@")
            done, total = state.get("done", 0), state.get("total")
            words = [f"{done:,}/{total:,}"] if total else []
            words += [f"{clock(state['left'])} left"] if state.get("left") is not None else []
            words += [state["about"]] if state else []
            bar, shown = ProgressBar(total, done, width=6, pulse=not total), Text("  ".join(words), no_wrap=True)
            table.add_row(f"{kind} {label(self.build, item)}", bar, clock(time.monotonic() - began), shown)
        return table


def result(kind: str, item: str) -> str:
    """The scores of a training's best validation; "" for another stage."""
    if kind != "train":
        return ""
    best = files.read_json(System.parse(item).training_summary)["best"]
    bleu = f"  BLEU {best['validation_bleu']:.1f}" if "validation_bleu" in best else ""
    return f"update {best['update']:,}  valid {best['validation_loss']:.2f}{bleu}"


def summary(build: Build) -> Iterator[str]:
    """Loss and score of each system of the report, best first, and commands to go on with."""
    systems: dict[str, dict[str, float]] = files.read_json(METRICS) if METRICS.exists() else {}
    ranked = sorted(systems, key=lambda name: rank(systems[name]))
    columns = [*dict.fromkeys(key for values in systems.values() for key in values)]
    numbers = [[f"{systems[name][key]:.2f}" if key in systems[name] else "" for key in columns] for name in ranked]
    rows = [["", *columns], *([name, *cells] for name, cells in zip(ranked, numbers, strict=True))]
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows if ranked else ():
        yield "  ".join([f"{name:{first}}", *map(str.rjust, cells, widths)])
    if ranked:
        yield f"\nreport     {METRICS.with_name('index.html')}"
    best = next((name for name in ranked if f"_{BEFORE}" not in name), None)
    for system in build.systems():
        if best and {*best.split("-")} <= {*system.id.split("-")}:
            lines = files.read_lines(path) if (path := system.split / "test.source.txt").exists() else []
            short = [line for line in lines if 0 < len(line) <= SENTENCE and line.isprintable() and line[0] != "-"]
            sentence = shlex.quote(short[0]) if short else "<sentence>"
            yield f"translate  nmt translate --system {project.shortest(system.id, project.built())} {sentence}"
            break
    yield "all runs   make ui"


def rank(scores: dict[str, float]) -> float:
    """The first score after the loss, so that the best comes first."""
    metric = [*scores][1]
    return scores[metric] if metric == "ter" else -scores[metric]
