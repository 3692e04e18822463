"""In a stage that a test runs: notes each path below the project that it opens to read, in work/opened/<stage>."""

import os
import sys


def note_what_is_opened(stage: str) -> None:
    """Add an audit hook that appends to the file of this stage."""
    root = os.getcwd() + os.sep
    os.makedirs("work/opened", exist_ok=True)
    notes = os.open(f"work/opened/{stage}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(event: str, arguments: tuple) -> None:
        if event not in ("open", "os.listdir", "os.scandir") or not isinstance(arguments[0], (str, os.PathLike)):
            return
        if event == "open" and not (arguments[1] or "r").startswith("r"):
            return
        path = os.path.abspath(os.fspath(arguments[0]))
        if path.startswith(root):
            os.write(notes, (path.removeprefix(root) + "\n").encode())

    sys.addaudithook(note)


if sys.orig_argv[1:2] == ["-m"] and sys.orig_argv[2].startswith("stages."):
    note_what_is_opened("@".join([sys.orig_argv[2].removeprefix("stages."), *sys.orig_argv[3:]]))
