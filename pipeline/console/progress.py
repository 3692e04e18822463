"""Progress of a stage: a live bar on a terminal, elsewhere a plain line now and then; for `nmt repro` a small file."""

import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .printing import printable

T = TypeVar("T")

SECONDS = 0.2  # between two looks at how far it is
PLAIN_SECONDS = 15.0  # between two plain lines
FOLDER = Path("work/progress")  # a file of JSON for each stage that DVC runs
console = Console(stderr=True, soft_wrap=not sys.stderr.isatty())  # a log keeps long lines whole


def track(
    items: Iterable[T],
    what: str,
    *,
    total: int | None,
    unit: str,
    start: int = 0,
    about: Callable[[], str] | None = None,
) -> Iterator[T]:
    """Pass `items` on and show progress.

    `what` is the label, `start` the number of items done before; `about` is asked for words in place of the rate.
    """
    what = printable(what)  # it may name a file of somebody else's
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=20))
    numbers = (MofNCompleteColumn(), TextColumn("{task.fields[about]}", markup=False))
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    stage = os.environ.get("DVC_STAGE")
    state = FOLDER / f"{stage}.json"  # how far a stage of DVC is; it goes at the end
    if stage:
        FOLDER.mkdir(parents=True, exist_ok=True)
    with Progress(*columns, *numbers, *times, console=console, disable=not console.is_interactive) as bar:
        task = bar.add_task(what, total=total, completed=start, about="")
        began = printed = shown = time.monotonic()
        try:
            for done, item in enumerate(items, start + 1):
                yield item
                if (now := time.monotonic()) - shown < SECONDS and done != total:
                    continue
                shown, rate = now, (done - start) / max(now - began, 1e-9)
                words, left = about() if about else f"{rate:,.1f} {unit}/s", (total - done) / rate if total else None
                bar.update(task, completed=done, about=words)
                if stage:
                    state.write_text(json.dumps({"done": done, "total": total, "about": words, "left": left}))
                if not console.is_interactive and now - printed >= PLAIN_SECONDS:
                    printed = now
                    count = f"{done:,}{f'/{total:,}' if total else ''} {unit}".rstrip()
                    rest = "" if left is None else f"  {clock(left)} left"
                    print(f"{what}  {count}  {words}{rest}", file=sys.stderr)
        finally:
            state.unlink(missing_ok=True)


def clock(seconds: float) -> str:
    """Seconds as a clock shows them, such as 1:05 or 2:00:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def say(what: str, *texts: str) -> None:
    """Show a line for each text about `what`, above the bar if there is one."""
    for text in texts:
        console.print(f"{what}  {text}", markup=False, highlight=False)


class TrainingDisplay:
    """Loss, BLEU so far and speed of a training called `name`; a line for each validation."""

    def __init__(self, name: str, updates: int) -> None:
        self.name, self.updates, self.bleu = name, updates, ""
        self.done, self.tokens, self.seconds = 0, 0, 0.0  # of all updates so far
        self.recent: deque[tuple[float, int, float]] = deque(maxlen=20)  # loss, tokens and seconds of the last updates

    def track(self, steps: Iterable[Any], *, start: int) -> Iterator[Any]:
        """Pass the updates after number `start` on and show how far they are."""
        return track(map(self.count, steps), self.name, total=self.updates, unit="", start=start, about=self.about)

    def count(self, step: Any) -> Any:
        """The update, counted in."""
        self.recent.append((step.loss, step.tokens, step.seconds))
        self.done, self.tokens, self.seconds = self.done + 1, self.tokens + step.tokens, self.seconds + step.seconds
        return step

    def about(self) -> str:
        """Mean training loss and speed of the last updates, and BLEU of the last validation."""
        losses, tokens, seconds = (sum(values) for values in zip(*self.recent, strict=True))
        return f"train {losses / len(self.recent):.2f}{self.bleu}  {tokens / seconds:,.0f} tokens/s"

    def show_validation(self, row: Mapping[str, float]) -> None:
        """Show the scores of a validation."""
        self.bleu = f"  BLEU {row['validation_bleu']:.1f}" if "validation_bleu" in row else ""
        losses = f"train {row['train_loss']:.2f}  " if "train_loss" in row else ""  # before the first update
        losses += f"valid {row['validation_loss']:.2f}"
        text = f"update {row['update']:,}/{self.updates:,}  {losses}  ppl {row['validation_perplexity']:,.1f}"
        left = (self.updates - row["update"]) * self.seconds / max(1, self.done)
        say(self.name, f"{text}{self.bleu}  {clock(left)} left")
