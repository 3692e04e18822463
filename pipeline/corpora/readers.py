"""Sentence pairs, as bytes, from the text formats that corpora come in; all streamed."""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from ..common import files, params
from . import archives

Pair = tuple[bytes, bytes]

TEXT_BYTES = 64 << 30  # unpacked; the largest side of a public corpus (WMT14 French-English) has some 6 GiB
# The lines of an IWSLT `train.tags.*` file that describe a talk; the others are its text.
IWSLT_TAG = re.compile(
    rb"\s*</?(?:content|description|doc|keywords|reviewer|speaker|talkid|title|transcript|translator|url)\b[^<]*?>"
)
MARKED_UP = re.compile(rb"\s*<(?:\?xml|!DOCTYPE|srcset|refset|tstset|mteval|tmx)\b", re.IGNORECASE)


class NotParallel(files.DataError):
    """Two texts have different numbers of lines."""


@dataclass(frozen=True)
class Text:
    """A text on disk: a file, or a member of an archive, whose `address` says how it is packed."""

    address: str
    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.address if self.member is None else f"{self.address} member {self.member}"

    def lines(self) -> Iterator[bytes]:
        """The lines without their ends (\\n or \\r\\n) and byte-order mark; of an IWSLT training file only the text.

        Raises: DataError for a line that has no end for too long, too much text, or a file of SGML or XML.
        """
        tagged, num_bytes = is_tagged(self.member or self.address), 0
        with archives.opened(self.path, self.address, self.member) as file:
            for number, line in enumerate(files.bounded_lines(file, self.name)):
                num_bytes += len(line)
                if num_bytes > TEXT_BYTES:
                    raise files.DataError(f"{self.name}: unpacks to more than {TEXT_BYTES:,} bytes; expected less")
                text = line.removesuffix(b"\n").removesuffix(b"\r")
                if number == 0:
                    text = text.removeprefix(codecs.BOM_UTF8)
                    if MARKED_UP.match(text):
                        raise files.DataError(
                            f"{self.name}: is SGML or XML, got {text[:40]!r}; expected a sentence on each line"
                        )
                if not tagged:
                    yield text
                elif not IWSLT_TAG.match(text):
                    yield text.strip()


def is_tagged(name: str) -> bool:
    """Whether a path or address is that of an IWSLT training file, which has lines about a talk between its text."""
    return PurePosixPath(name).name.startswith("train.tags.")


def parallel(source: Text, target: Text) -> Iterator[Pair]:
    """Line i of `source` with line i of `target`.

    Raises: NotParallel with both counts if one text is longer.
    """
    for left, right in zip_longest(source.lines(), target.lines()):
        if left is None or right is None:
            num_source, num_target = (sum(1 for _ in text.lines()) for text in (source, target))
            raise NotParallel(
                f"{source.name} has {num_source} lines, {target.name} {num_target}: the two files must be parallel"
            )
        yield left, right


def columns(table: Text, source: int | str, target: int | str) -> Iterator[Pair]:
    """Two columns of a table: by their numbers from 1, or by their names in the first row.

    Raises: DataError naming the column that the first row lacks, or the first row with fewer columns.
    """
    rows = csv_rows(table) if is_csv(table.name) else (line.split(b"\t") for line in table.lines())
    if isinstance(source, int) and isinstance(target, int):
        left, right = source - 1, target - 1
    else:
        header = [cell.decode("utf-8", "replace") for cell in next(rows, [])]
        check_columns(table.name, (str(source), str(target)), header)
        left, right = header.index(str(source)), header.index(str(target))
    needed = max(left, right) + 1
    for number, row in enumerate(rows, 1):
        if len(row) < needed:
            plural = "" if len(row) == 1 else "s"
            raise files.DataError(f"{table.name} row {number}: {len(row)} column{plural}; expected at least {needed}")
        yield row[left], row[right]


def is_csv(name: str) -> bool:
    """Whether a table has commas and quotes, by its name; else it has tabs, and quotes are text."""
    return name.removesuffix(".gz").endswith(".csv")


def csv_rows(table: Text) -> Iterator[list[bytes]]:
    """The rows of a table with commas; a cell is one line.

    Raises: DataError for a row that is no CSV.
    """
    lines = (line.decode("utf-8", "surrogateescape") + "\n" for line in table.lines())
    try:
        for row in csv.reader(lines, strict=True):
            yield [flat(cell) for cell in row]
    except csv.Error as error:
        raise files.DataError(f"{table.name}: not valid CSV, {error}; expected a table with commas") from None


def check_columns(table: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that a table has some columns.

    Raises: DataError naming the nearest to one that it lacks.
    """
    for name in names:
        if name not in known:
            raise files.DataError(f"{table}: has no column {name!r}{params.nearest(name, known)}")


def flat(text: str) -> bytes:
    """A sentence as one line: the line breaks inside it become spaces."""
    return re.sub(r"[\r\n]+", " ", text).encode("utf-8", "surrogateescape")


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
