"""Run a stage as a command: its user's mistakes print one message, its own bugs print a traceback."""

import errno
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import typer

from pipeline.terminal import printable

# An OpenMP thread that waits for the others spins, by default 300,000 turns, and keeps the core from whom it waits for:
# beside one busy process a training falls to a few per cent of its speed. So many turns, less than a millisecond, cost
# an idle machine nothing. libgomp reads it once, where torch is loaded, so that a stage imports this module first.
SPINS = "10000"
if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = SPINS

FULL = re.compile(rf"{os.strerror(errno.ENOSPC)}|\d+ requested and \d+ written")  # Rust's words and numpy's


def run(main: Callable[..., Any]) -> None:
    """Parse the command line into `main`'s arguments and call it."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    call(app)


def call(app: Callable[[], Any]) -> None:
    """Run a command line; a mistake of its user ends it with one message and exit status 1."""
    try:
        app()
    except Exception as error:
        if message := mistake(error):
            sys.exit(f"error: {printable(message)}")
        raise


def mistake(error: Exception) -> str | None:
    """What to say of an error that is the user's; None where it is ours.

    The user's are a full disk and the ValueErrors of classes of our own: a plain one, torch's or numpy's is a bug.
    """
    if disk_full(error):
        where = getattr(error, "filename", None) or "write"
        return f"{where}: the disk is full; free some space and repeat the command"
    ours = type(error).__module__.partition(".")[0] == "pipeline"
    return str(error) if ours and isinstance(error, ValueError) else None


def disk_full(error: Exception) -> bool:
    """Whether a write found no room; libraries that write by themselves say so only in their message."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or FULL.search(str(error)) is not None
