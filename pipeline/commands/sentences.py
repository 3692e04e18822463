"""Sentences of a command line (an argument, a file or standard input), and warnings about them."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..common import files
from ..decoding.translator import Translator
from ..terminal import printable

SHOWN_CHARACTERS = 60  # of a word in a warning
SHOWN_WORDS = 5


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
        return Lines(files.read_lines(file), str(file), together, files.count_lines(file) if file.is_file() else None)
    if sys.stdin is None:
        raise files.DataError("standard input: is closed; expected a sentence, --file, or lines on standard input")
    origin = "standard input"
    if sys.stdin.isatty():
        print("One sentence a line; Ctrl-D ends.", file=sys.stderr)
        together = 1
    return Lines(decoded(files.bounded_lines(sys.stdin.buffer, origin), origin), origin, together)


def decoded(raw: Iterable[bytes], origin: str) -> Iterator[str]:
    """Lines of UTF-8 without their ends, as `files.read_lines` reads those of a file.

    Raises: DataError naming the line that is not UTF-8.
    """
    for number, line in enumerate(raw, 1):
        try:
            yield line.rstrip(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise files.not_utf8(f"{origin} line {number}", error) from None


def warn(translator: Translator, line: str, where: str) -> None:
    """Warn on standard error if the translation of a line cannot be trusted."""
    if new := translator.seen_words.new(line):
        shown = ", ".join(word[:SHOWN_CHARACTERS] for word in new[:SHOWN_WORDS])
        shown += f" and {len(new) - SHOWN_WORDS} more" if new[SHOWN_WORDS:] else ""
        print(
            f"warning: {printable(where)}: words that training never saw, got {shown}; "
            "the translation may make no sense",
            file=sys.stderr,
        )
