"""Progress with rates and time left: a live bar on a terminal, elsewhere a plain line now and then.

Under `nmt repro`, which shows the progress of several stages, it goes there as events.
"""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
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

from pipeline import events
from pipeline.terminal import printable

T = TypeVar("T")

PLAIN_SECONDS = 15.0  # between two plain lines
console = Console(stderr=True, soft_wrap=not sys.stderr.isatty())  # a log keeps long lines whole


class About(ProgressColumn):
    """What there is to say of the work; else units finished a second."""

    def render(self, task: Task) -> Text:
        if about := task.fields["about"]:
            return Text(about())
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f} {task.fields['unit']}/s")


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
    if events.are_wanted():
        yield from sent(items, total=total, unit=unit, start=start, about=about)
        return
    if not console.is_interactive:  # no terminal, or one on which nothing can be drawn again (TERM=dumb)
        yield from plain(items, what, total=total, unit=unit, start=start, about=about)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        About(),
    )
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(what, total=total, completed=start, unit=unit, about=about)
        for item in items:
            yield item
            bar.advance(task)


def plain(
    items: Iterable[T], what: str, *, total: int | None, unit: str, start: int, about: Callable[[], str] | None
) -> Iterator[T]:
    """Pass `items` on; a line every `PLAIN_SECONDS`, for logs and pipes."""
    began = said = time.monotonic()
    for done, item in enumerate(items, start + 1):
        yield item
        now = time.monotonic()
        if now - said >= PLAIN_SECONDS:
            said = now
            rate = (done - start) / (now - began)
            words = about() if about else f"{rate:,.1f}/s"
            print(line(what, done, total, unit, words, remaining(done, total, rate)), file=sys.stderr)


def sent(
    items: Iterable[T], *, total: int | None, unit: str, start: int, about: Callable[[], str] | None
) -> Iterator[T]:
    """Pass `items` on; an event now and then, for `nmt repro`."""
    began = time.monotonic()
    said = -math.inf
    for done, item in enumerate(items, start + 1):
        yield item
        now = time.monotonic()
        if now - said >= events.SECONDS or done == total:
            said = now
            rate = (done - start) / (now - began) if now > began else 0.0
            words, left = about() if about else f"{rate:,.1f}/s", remaining(done, total, rate)
            events.send("progress", done=done, total=total, unit=unit, about=words, left=left)


def line(what: str, done: int, total: int | None, unit: str, about: str, left: float | None) -> str:
    """A line of progress, within 100 columns."""
    end = "" if left is None else f"  {clock(left)} left"
    count = f"{done:,}{f'/{total:,}' if total else ''} {unit}".rstrip()
    return f"{what}  {count}  {about}{end}"


def remaining(done: int, total: int | None, rate: float) -> float | None:
    """Seconds to go, if that can be said."""
    return (total - done) / rate if total and rate else None


def clock(seconds: float) -> str:
    """Seconds as a clock shows them, such as 1:05 or 2:00:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def say(what: str, text: str) -> None:
    """Show a line about `what`, above a bar, if there is one; `nmt repro` has one line a stage instead."""
    if not events.are_wanted():
        console.print(f"{what}  {text}", markup=False, highlight=False)
