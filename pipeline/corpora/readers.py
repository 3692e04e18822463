"""Lines and sentence pairs, as bytes, from the text formats that corpora come in; all streamed."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import IO

from pipeline import files, terminal

Pair = tuple[bytes, bytes]

# The lines of an IWSLT `train.tags.*` file that describe a talk; the others are its text.
IWSLT_TAG = re.compile(
    rb"\s*</?(?:content|description|doc|keywords|reviewer|speaker|talkid|title|transcript|translator|url)\b[^<]*?>"
)
MARKED_UP = re.compile(rb"\s*<(?:\?xml|!DOCTYPE|srcset|refset|tstset|mteval|tmx)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Text:
    """The lines of one side, and the file's name in messages."""

    name: str
    lines: Iterator[bytes]


def is_tagged(name: str) -> bool:
    """Whether a path or address is that of an IWSLT training file, which has lines about a talk between its text."""
    return PurePosixPath(name).name.startswith("train.tags.")


def read_lines(file: IO[bytes], name: str, *, tagged: bool = False) -> Iterator[bytes]:
    """The lines without their ends (\\n or \\r\\n) and without a byte-order mark; of a tagged file only the text.

    Raises: DataError, which calls the file `name`, for a line that has no end for too long, or a file of SGML or XML.
    """
    for number, line in enumerate(files.bounded_lines(file, name)):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if number == 0:
            text = text.removeprefix(codecs.BOM_UTF8)
            if MARKED_UP.match(text):
                shown = terminal.one_line(text[:40].decode("utf-8", "replace"))
                raise files.DataError(f"{name}: is SGML or XML, got {shown!r}; expected a sentence on each line")
        if not tagged:
            yield text
        elif not IWSLT_TAG.match(text):
            yield text.strip()


def parallel(source: Text, target: Text) -> Iterator[Pair]:
    """Line i of `source` with line i of `target`.

    Raises: DataError with both counts if one text is longer.
    """
    for number, (left, right) in enumerate(zip_longest(source.lines, target.lines)):
        if left is None or right is None:
            num_source = number if left is None else number + 1 + sum(1 for _ in source.lines)
            num_target = number if right is None else number + 1 + sum(1 for _ in target.lines)
            raise files.DataError(
                f"{source.name} has {num_source} lines, {target.name} {num_target}: the two files must be parallel"
            )
        yield left, right


def columns(table: Text, source_column: int, target_column: int) -> Iterator[Pair]:
    """Two columns, counted from 1, of a tab-separated table.

    Raises: DataError naming the first line with fewer columns.
    """
    needed = max(source_column, target_column)
    for number, line in enumerate(table.lines, 1):
        cells = line.split(b"\t", needed)
        if len(cells) < needed:
            plural = "" if len(cells) == 1 else "s"
            raise files.DataError(
                f"{table.name} line {number}: {len(cells)} column{plural}, expected at least {needed}"
            )
        yield cells[source_column - 1], cells[target_column - 1]


def flat(text: str) -> bytes:
    """A sentence as one line: the line breaks inside it become spaces."""
    return re.sub(r"[\r\n]+", " ", text).encode("utf-8")


def decoded(pairs: Iterable[Pair], source: str, target: str) -> Iterator[Pair]:
    """The pairs unchanged, all of them UTF-8.

    Raises: DataError naming file (`source` or `target`), pair and byte if one is not.
    """
    for number, pair in enumerate(pairs, 1):
        for name, line in zip((source, target), pair, strict=True):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise files.not_utf8(f"{name} line {number}", error) from None
        yield pair
