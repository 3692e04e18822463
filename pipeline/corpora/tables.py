"""Sentence pairs from two columns of a table: with tabs or, by its name, with commas."""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from ..common import files, params
from ..console import progress
from .readers import RawPair, TextFile, flat

Quoting = Literal["raw", "quoted"]  # quotes are text, or those of a CSV writer: around cells, and doubled inside

MEANT = {
    "raw": "which are text: they stay (`quoting: quoted` takes a CSV writer's off)",
    "quoted": "which a CSV writer put there: they are taken off (`quoting: raw` keeps them)",
}
WRITTEN = r'(?:"((?:[^"]|"")*)"|([^"\t]*))'  # a cell as a CSV writer writes it, with quotes or without
ROW, CELL = re.compile(rf"{WRITTEN}(?:\t{WRITTEN})*"), re.compile(rf"(?:^|\t){WRITTEN}")

MARKS = ("\n", '"', "\t", ",", "")  # in a cell, for which a CSV writer puts quotes around it; or none


def columns(table: TextFile, source: int | str, target: int | str, *, quoting: Quoting | None) -> Iterator[RawPair]:
    """Two columns of a table: by their numbers from 1, or by their names in the first row.

    Raises: DataError naming the column that the first row lacks, or a row with more or fewer columns than that.
    """
    delimiter = "," if is_csv(table.name) else "\t"
    if delimiter == "\t" and not quoting and (quoting := found_quoting(table)):
        progress.say(table.name, f"has quotes, {MEANT[quoting]}")
    is_quoted = quoting == "quoted" or (not quoting and delimiter == ",")
    rows = quoted_rows(table, delimiter) if is_quoted else (line.split(delimiter.encode()) for line in table.lines())
    first = next(rows, [])
    if isinstance(source, int) and isinstance(target, int):
        left, right, rows = source - 1, target - 1, chain([first] if first else [], rows)
    else:
        header = [cell.decode("utf-8", "replace") for cell in first]
        check_columns(table.name, (str(source), str(target)), header)
        left, right = header.index(str(source)), header.index(str(target))
    for number, row in enumerate(rows, 1):
        if len(row) != len(first) or len(row) <= max(left, right):
            expected = f"{len(first)}, as the first has" if number > 1 else f"at least {max(left, right) + 1}"
            raise files.DataError(f"{table.name} row {number}: got {len(row)} columns; expected {expected}")
        yield row[left], row[right]


def is_csv(name: str) -> bool:
    """Whether a table has commas, by its name; else it has tabs."""
    return name.removesuffix(".gz").endswith(".csv")


def quoted_rows(table: TextFile, delimiter: str) -> Iterator[list[bytes]]:
    """The rows of a table that a CSV writer wrote; a cell is one line.

    Raises: DataError for a row that is no CSV.
    """
    lines = (line.decode("utf-8", "surrogateescape") + "\n" for line in table.lines())
    try:
        for row in csv.reader(lines, delimiter=delimiter, strict=True):
            yield [flat(cell) for cell in row]
    except csv.Error as error:
        raise files.DataError(
            f"{table.name}: not valid CSV, got {error}; expected quotes around cells, or `quoting: raw`"
        ) from None


def found_quoting(table: TextFile) -> Quoting | None:
    """Whose the quotes of a table with tabs are; None if there are none.

    A CSV writer puts quotes around every cell, or around those that hold a quote, a tab, a line end or, for Excel, a
    comma. One quote that it would not write, and all are text.

    Raises: DataError if both readings are possible.
    """
    kinds, text = set[str](), ""  # of cells; a row so far
    line_widths, row_widths = set[int](), set[int]()
    for line in table.lines():
        line_widths.add(line.count(b"\t"))
        text += line.decode("utf-8", "surrogateescape")
        if text.count('"') % 2 and len(text) < files.LINE_BYTES:
            text += "\n"
            continue
        if not ROW.fullmatch(text):
            return "raw"
        cells = CELL.findall(text)
        row_widths.add(len(cells))
        kinds.update(f"quoted {next(filter(quoted.__contains__, MARKS))}" for quoted, _ in cells if quoted)
        kinds.update(f"bare {',' * (',' in bare)}" for _, bare in cells if bare)
        text = ""
    if not any(kind.startswith("quoted") for kind in kinds):
        return "raw" if text else None
    if len(row_widths) > 1 or text or ("quoted \n" in kinds and len(line_widths) == 1):
        return "raw"
    is_needless = "quoted " in kinds or {"quoted ,", "bare ,"} <= kinds
    if is_needless and len(line_widths) == 1 and {"bare ", "bare ,"} & kinds:
        raise files.DataError(
            f"{table.name}: has quotes around cells, as text or by a CSV writer, got both readings possible; expected "
            "a choice, `quoting: raw` (--quoting raw) to keep them or `quoting: quoted` to take them off"
        )
    return "quoted"


def check_columns(table: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that a table has some columns.

    Raises: DataError naming the nearest to one that it lacks.
    """
    for name in names:
        if name not in known:
            raise files.DataError(f"{table}: has no column {name!r}{params.nearest(name, known)}")
