"""Runs a stage as a command: one process at a time, ended with `dvc repro`; a user's mistake prints one message.

A bug of ours prints a traceback.
"""

import atexit
import contextlib
import ctypes
import errno
import fcntl
import functools
import gc
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pipeline import events, files
from pipeline.terminal import printable

PARENT = os.getppid()  # as early as possible: the other imports of a stage may take seconds
# A waiting OpenMP thread spins, by default 300,000 turns, and keeps the core from the thread that it waits for. With
# this many turns, less than a millisecond, a training beside busy processes is 10 to 30 % faster (LOG), and an idle
# machine loses nothing. libgomp reads the variable once, when torch is loaded, so a stage imports this module first.
SPINS = "10000"
if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = SPINS

# Before it ends, Python looks for cycles among all objects, torch's own too: 0.4 s, unless they are frozen.
atexit.register(gc.freeze)

FULL = re.compile(rf"{os.strerror(errno.ENOSPC)}|\d+ requested and \d+ written")  # Rust's words and numpy's
UNUSABLE = (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError)  # errors of an unusable path
PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>
LOCKS = Path("work/locks")  # a file for each stage of each matrix item, unknown to DVC
IN_USE_SECONDS = 300.0  # enough for a training that was asked to stop: its update, a validation, writing its state


class InUseError(ValueError):
    """Another process runs the same stage."""


def run(main: Callable[..., Any], *, writes: Callable[[], bool] = lambda: True) -> None:
    """Parse the command line into the names of `main`'s matrix item and call it, while no other process does.

    `writes` says whether this process writes the outputs, if there are several.
    """
    import typer  # a tenth of a second

    stage = Path(sys.argv[0]).stem

    @functools.wraps(main)
    def alone(**axes: str) -> None:
        end_with_parent()
        if not writes():
            main(**axes)
            return
        name = f"{stage}_seed" if axes.get("seed") else stage
        events.stage = "@".join(filter(None, (name, "-".join(filter(None, axes.values())))))
        with told(), held(LOCKS / re.sub(r"[^\w@-]", "_", events.stage)):
            main(**axes)

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(to_the_end(alone))
    call(app)


@contextmanager
def told() -> Iterator[None]:
    """A block of which `nmt repro`, if it runs this stage, hears when it begins and ends.

    It shows results of its own, so standard output is for `dvc repro` only; warnings and errors go to standard error.
    """
    events.send("began")
    began, ok = time.monotonic(), False
    try:
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere if events.are_wanted() else sys.stdout),
        ):
            yield
        ok = True
    finally:
        events.send("ended", ok=ok, seconds=time.monotonic() - began)


def end_with_parent() -> None:
    """Have this process get SIGTERM when its parent dies: `dvc repro`, or torchrun's launcher.

    A stage that a user started in a terminal is left alone.
    Raises: SystemExit if the parent has died already. If that was before this module was imported, the process that
        adopted this one belongs to another session (as torchrun's launcher does for its ranks).
    """
    if not {"DVC_STAGE", "RANK"} & os.environ.keys():
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    else:
        threading.Thread(target=terminate_with_parent, args=(os.getppid(),), daemon=True).start()
    adopted = "RANK" not in os.environ and os.getsid(os.getppid()) != os.getsid(0)
    if adopted or os.getppid() != PARENT:
        sys.exit(128 + signal.SIGTERM)


def terminate_with_parent(parent: int, seconds: float = 0.2) -> None:
    """Send this process SIGTERM once it has another parent; for systems whose kernel cannot do so."""
    while os.getppid() == parent:
        time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """A block that one process at a time runs, by a lock on `path`; the lock ends with its process.

    Raises: InUseError naming the process that still holds the lock after `IN_USE_SECONDS`.
    """
    file = open_lock(path)
    until = time.monotonic() + IN_USE_SECONDS
    waits = False
    while not (locked(file) and files.is_at(path, file.fileno())):
        if not files.is_at(path, file.fileno()):  # work/ was deleted
            file.close()
            file = open_lock(path)
            continue
        file.seek(0)
        holder = f"process {file.read().strip() or 'unknown'}"
        if time.monotonic() >= until:
            raise InUseError(f"{path.name}: is run by {holder} already; expected no other, end it first")
        if not waits:
            print(f"{path.name}: waits for {holder}, which runs the same", file=sys.stderr, flush=True)
        waits = True
        time.sleep(0.02)
    with file:
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def open_lock(path: Path) -> IO[str]:
    """The file of a lock; it is never removed, as another process may be waiting for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+", encoding="utf-8")


def locked(file: IO[str]) -> bool:
    """Whether this process now holds the lock; always true on a file system without locks."""
    try:
        files.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def call(app: Callable[[], Any]) -> None:
    """Run a command line; a mistake of its user ends it with one message and exit status 1."""
    keep_standard_streams()
    try:
        app()
    except Exception as error:
        if message := mistake(error):
            sys.exit(f"error: {printable(message)}")
        raise


def keep_standard_streams() -> None:
    """If a standard stream was closed (`>&-`), keep other files from taking its number."""
    while (opened := os.open(os.devnull, os.O_RDWR)) < 3:
        continue
    os.close(opened)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open until the end)


def to_the_end(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which flushes its output at the end: if the reader has gone (`| head -1`), typer ends it quietly."""

    @functools.wraps(command)
    def printing(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()

    return printing


def mistake(error: Exception) -> str | None:
    """The message for a user's mistake; None if the error is a bug of ours.

    A user's mistake is a full disk, a path that cannot be used, or a ValueError of one of our own classes. A plain
    ValueError, or one of torch or numpy, is a bug.
    """
    where = getattr(error, "filename", None)
    if disk_full(error):
        return f"{where or 'write'}: the disk is full; free some space and repeat the command"
    if isinstance(error, UNUSABLE) or getattr(error, "errno", None) in (errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP):
        what = getattr(error, "strerror", None) or str(error)
        return f"{where or 'write'}: {what}; expected a path of your own to read or to write"
    ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    return str(error) if ours and isinstance(error, ValueError) else None


def disk_full(error: Exception) -> bool:
    """Whether a write failed for lack of space; some libraries say so only in their message."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or FULL.search(str(error)) is not None
