"""Runs a stage as a command: it ends with `dvc repro`; a user's mistake prints one line, a bug of ours a traceback."""

import atexit
import codecs
import ctypes
import errno
import gc
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

from .printing import printable

PARENT = os.getppid()  # as early as possible: the other imports of a stage may take seconds
# A waiting OpenMP thread spins, by default 300,000 turns, and keeps the core from the thread that it waits for. With
# this many turns, less than a millisecond, a training beside busy processes is 10 to 30 % faster (LOG), and an idle
# machine loses nothing. libgomp reads the variable once, when torch is loaded, so a stage imports this module first.
SPINS = "10000"
if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = SPINS

# Before it ends, Python looks for cycles among all objects, torch's own too: 0.4 s, unless they are frozen.
atexit.register(gc.freeze)

PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>


def run(main: Callable[..., Any]) -> None:
    """Parse the command line into the arguments of `main` and call it."""
    import typer  # a tenth of a second

    end_with_parent()
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    call(app)


def end_with_parent() -> None:
    """On Linux, have this process get SIGTERM when `dvc repro` or torchrun's launcher dies, which started it.

    Raises: SystemExit if that has died already.
    """
    if sys.platform == "linux" and {"DVC_STAGE", "RANK"} & os.environ.keys():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != PARENT:
            sys.exit(128 + signal.SIGTERM)


def be_utf8() -> None:
    """Start this process again in Python's UTF-8 mode where the locale would have it read or write something else."""
    encodings = {getattr(stream, "encoding", None) or "utf-8" for stream in (sys.stdin, sys.stdout, sys.stderr)}
    names = {codecs.lookup(name).name for name in (*encodings, sys.getfilesystemencoding())}
    if names != {"utf-8"} and os.environ.get("PYTHONUTF8") != "1":
        mode = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | mode)


def call(app: Callable[[], Any]) -> None:
    """Run a command line; a mistake of its user ends it with one line and exit status 1."""
    be_utf8()
    try:
        try:
            app()
        finally:
            print(end="", flush=True)
    except BrokenPipeError:  # the reader has gone, as in `| head -1`
        drop_output()
        sys.exit(1)
    except Exception as error:
        try:
            print(end="", flush=True)
        except OSError:  # the output itself is full; Python would try again as it ends, and exit with 120
            drop_output()
            if isinstance(error, OSError):
                error.filename = error.filename or "standard output"
        if message := mistake(error):
            sys.exit(f"error: {printable(message)}")
        raise


def drop_output() -> None:
    """Let what standard output still holds go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def mistake(error: Exception) -> str | None:
    """The message for a user's mistake; None if the error is a bug of ours.

    A user's mistake is a full disk, too little memory, a path that cannot be used, or a ValueError of one of our own
    classes. A plain ValueError, or one of torch or numpy, is a bug.
    """
    # A copy that fails has two names; a file is written under another name than it will have.
    name = getattr(error, "filename2", None) or getattr(error, "filename", None)
    where = re.sub(r"\.([^/]+)\.partial", r"\1", str(name)) if name else None
    # Libraries say only in their message that the disk is full.
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error):
        return f"{where or 'write'}: the disk is full; free some space and repeat the command"
    is_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    if is_memory or os.strerror(errno.ENOMEM) in str(error):
        place = "corpora/<corpus>.yaml or params.yaml"
        return f"memory: there is too little; lower `tokens_per_batch` in {place}, or build with `nmt repro --jobs 1`"
    if isinstance(error, OSError) and where and not isinstance(error, FileNotFoundError):
        return f"{where}: {error.strerror}; expected a path of your own to read or to write"
    is_ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    return str(error) if is_ours and isinstance(error, ValueError) else None
