"""Progress with rates and time left: a live bar on a terminal, elsewhere a plain line now and then."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from pipeline.terminal import printable

T = TypeVar("T")

PLAIN_SECONDS = 15.0  # between two plain lines
console = Console(stderr=True, soft_wrap=not sys.stderr.isatty())  # a log keeps long lines whole


class Rate(ProgressColumn):
    """Units finished a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f} {task.fields['unit']}/s")


def track(items: Iterable[T], what: str, *, total: int | None, unit: str, start: int = 0) -> Iterator[T]:
    """Pass `items` on and show progress; `what` is the label, `start` the number of items done before."""
    what = printable(what)  # it may name a file of somebody else's
    if not console.is_terminal:
        yield from plain(items, what, total=total, unit=unit, start=start)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
    )
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(what, total=total, completed=start, unit=unit)
        for item in items:
            yield item
            bar.advance(task)


def plain(items: Iterable[T], what: str, *, total: int | None, unit: str, start: int) -> Iterator[T]:
    """Pass `items` on; a line every `PLAIN_SECONDS`, for logs and pipes."""
    began = said = time.monotonic()
    for done, item in enumerate(items, start + 1):
        yield item
        now = time.monotonic()
        if now - said >= PLAIN_SECONDS:
            said = now
            rate = (done - start) / (now - began)
            left = f", {(total - done) / rate:,.0f} s left" if total and rate else ""
            print(f"{what}: {done:,}{f' of {total:,}' if total else ''} {unit}, {rate:,.1f}/s{left}", file=sys.stderr)
