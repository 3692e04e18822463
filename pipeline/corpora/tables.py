"""Sentence pairs from two columns of a table: with tabs or, by its name, with commas."""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from ..common import files, params
from ..console import progress
from .readers import Pair, Text, flat

Quoting = Literal["raw", "quoted"]  # quotes are text, or those of a CSV writer: around cells, and doubled inside

MEANT = {
    "raw": "which are text: they stay (`quoting: quoted` takes a CSV writer's off)",
    "quoted": "which a CSV writer put there: they are taken off (`quoting: raw` keeps them)",
}


def columns(table: Text, source: int | str, target: int | str, *, quoting: Quoting | None) -> Iterator[Pair]:
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


def quoted_rows(table: Text, delimiter: str) -> Iterator[list[bytes]]:
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


def found_quoting(table: Text) -> Quoting | None:
    """Whose the quotes of a table with tabs are, decided by all of them; None if there are none.

    A CSV writer puts quotes around a cell that holds a quote, a tab or a line end, or for Excel a comma, or around a
    whole column; it doubles those inside. One quote that it would not write, and all are text.

    Raises: DataError if some quotes are around cells as a writer's are, and some around others.
    """
    cells = set[tuple[int, bool, str]]()  # column, whether it has quotes around, and why it may have
    line_widths, row_widths, longest = set[int](), set[int](), 0
    try:
        for row, lines in rows_as_written(table):
            line_widths.update(line.count("\t") for line in lines)
            row_widths.add(len(row))
            longest, text = max(longest, len(lines)), "\n".join(lines)
            for column, cell in enumerate(row):
                doubled = cell.replace('"', '""')
                is_quoted = text.startswith(f'"{doubled}"')
                if '"' in cell and not is_quoted:
                    return "raw"
                text = text[len(doubled) + 2 * is_quoted + 1 :]
                if cell:
                    cells.add((column, is_quoted, next((mark for mark in '"\t\n,' if mark in cell), "")))
    except csv.Error:
        return "raw"
    mixed = {column for column, is_quoted, _ in cells if not is_quoted}
    free = "," if any(mark == "," and not is_quoted for _, is_quoted, mark in cells) else ""
    by_writer = {column not in mixed or mark not in ("", free) for column, is_quoted, mark in cells if is_quoted}
    if len(row_widths) > 1 or not by_writer:
        return "raw" if by_writer else None
    if len(line_widths) == 1 and longest == 1 and len(by_writer) == 2:
        raise files.DataError(
            f"{table.name}: some quotes are as a CSV writer puts them, some are not, got both; expected a choice, "
            "`quoting: raw` (--quoting raw) to keep them or `quoting: quoted` to take them off"
        )
    return "quoted" if len(line_widths) > 1 or (longest == 1 and True in by_writer) else "raw"


def rows_as_written(table: Text) -> Iterator[tuple[list[str], list[str]]]:
    """The rows of a table with tabs, read as CSV, and the lines of each.

    Raises: csv.Error.
    """
    lines: list[str] = []

    def read() -> Iterator[str]:
        for line in table.lines():
            lines.append(line.decode("utf-8", "surrogateescape"))
            yield lines[-1] + "\n"

    for row in csv.reader(read(), delimiter="\t", strict=True):
        yield row, lines[:]
        lines.clear()


def check_columns(table: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that a table has some columns.

    Raises: DataError naming the nearest to one that it lacks.
    """
    for name in names:
        if name not in known:
            raise files.DataError(f"{table}: has no column {name!r}{params.nearest(name, known)}")
