"""Sentences of a command line (an argument, a file or standard input)."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..common import files
from ..corpora import encodings


class Lines(NamedTuple):
    """Lines to translate."""

    lines: Iterator[str]
    origin: str  # the name of their source in messages
    together: int  # how many are read before the first answer
    total: int | None = None  # how many there are, if known


def lines(sentence: str | None, file: Path | None, together: int) -> Lines:
    """The lines of the argument, of the file, or else of standard input; at a terminal each is answered at once.

    Raises: DataError if both are given or the file does not exist.
    """
    if sentence is not None and file is not None:
        raise files.DataError(f"--file: must stand alone, got {sentence!r} too; expected one of the two")
    if sentence is not None:
        raw = os.fsencode(sentence).removesuffix(b"\n").split(b"\n")
        return Lines(decoded(raw, "sentence"), "sentence", together, len(raw))
    if file is not None:
        if not file.is_file() and not file.is_fifo():
            what = "not a file" if file.exists() else "no such file"
            raise files.DataError(f"--file: {what}, got {str(file)!r}; expected one sentence a line")
        total = sum(1 for _ in opened(file)) if file.is_file() else None
        return Lines(decoded(opened(file), str(file)), str(file), together, total)
    if sys.stdin is None:
        raise files.DataError("standard input: is closed; expected a sentence, --file, or lines on standard input")
    origin = "standard input"
    if sys.stdin.isatty():
        print("One sentence a line; Ctrl-D ends.", file=sys.stderr)
        together = 1
    return Lines(decoded(encodings.lines(sys.stdin.buffer, origin), origin), origin, together)


def opened(file: Path) -> Iterator[bytes]:
    """The lines of a file in UTF-8."""
    with file.open("rb") as opened_file:
        yield from encodings.lines(opened_file, str(file))


def decoded(lines: Iterable[bytes], origin: str) -> Iterator[str]:
    """Lines in UTF-8 as text.

    Raises: DataError naming the line that is not UTF-8.
    """
    return (files.decoded(line, origin, number) for number, line in enumerate(lines, 1))
