"""Sentence pairs from two columns of a table: with tabs or, by its name, with commas or semicolons."""

import contextlib
import csv
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal

from ..common import files, params
from ..console import progress
from ..languages.codes import CODES, name_of, tag
from .readers import RawPair, TextFile, flat

Quoting = Literal["raw", "quoted"]  # quotes are text, or those of a CSV writer: around cells, and doubled inside

MEANT = {
    "raw": "which are text: they stay (`quoting: quoted` takes a CSV writer's off)",
    "quoted": "which a CSV writer put there: they are taken off (`quoting: raw` keeps them)",
}
WRITTEN = r'(?:"((?:[^"]|"")*)"|([^"\t]*))'  # a cell as a CSV writer writes it, with quotes or without
ROW, CELL = re.compile(rf"{WRITTEN}(?:\t{WRITTEN})*"), re.compile(rf"(?:^|\t){WRITTEN}")
MARKS = ("\n", '"', "\t", ",", "")  # in a cell, for which a CSV writer puts quotes around it; or none
DELIMITERS = {";": "semicolons", "\t": "tabs", ",": "commas"}  # a decimal comma is no delimiter
SAMPLE = 50  # lines that say which of them a .csv has
# What people call columns, besides the codes and English names of their languages.
TITLES = """
source src target tgt trg text sentence sentences segment translation original input output reference string msgid
msgstr quelle ziel übersetzung deutsch englisch französisch spanisch italienisch english français anglais allemand
español inglés italiano português русский
"""


def columns(
    table: TextFile, source: int | str, target: int | str, codes: Iterable[str] = (), *, quoting: Quoting | None
) -> Iterator[RawPair]:
    """Two columns of a table: by their numbers from 1, or by their names in the first row; a blank row is a blank pair.

    A first row of names, as of the languages `codes`, is no pair.
    Raises: DataError naming the column that the first row lacks, or a row with more or fewer columns than that.
    """
    delimiter = delimiter_of(table, quoting)
    if delimiter == "\t" and not quoting and (quoting := found_quoting(table)):
        progress.say(str(table), f"has quotes, {MEANT[quoting]}")
    is_quoted = quoting == "quoted" or (not quoting and delimiter != "\t")
    rows = quoted_rows(table, delimiter) if is_quoted else (line.split(delimiter.encode()) for line in table.lines())
    width = left = right = 0
    for number, row in enumerate(rows, 1):
        if number == 1 and row[:1] == [b"sep="]:  # as Excel names the delimiter
            continue
        if not any(map(bytes.strip, row)):
            yield b"", b""
            continue
        if not width:
            names = [cell.decode("utf-8", "replace").strip() for cell in row]
            named = [key for key in (source, target) if isinstance(key, str)]
            check_columns(str(table), named, names)
            left, right = (key - 1 if isinstance(key, int) else names.index(key) for key in (source, target))
            width = max(len(row), left + 1, right + 1)
            is_header = len(row) == width and are_names((names[left], names[right]), codes)
            if is_header and not named:
                progress.say(str(table), f"begins with names, {names[left]!r} and {names[right]!r}: the row is skipped")
            if is_header or named:
                continue
        if len(row) != width:
            cause = "a cell that holds one needs quotes" if is_csv(str(table)) else "commas or semicolons: in a .csv"
            expected = f"{width} with {DELIMITERS[delimiter]} between ({cause})"
            raise files.DataError(f"{table} row {number}: got {len(row)} columns; expected {expected}")
        yield row[left], row[right]


def is_csv(name: str) -> bool:
    """Whether a table is no table with tabs, by its name."""
    return ".csv" in PurePosixPath(name.lower()).suffixes


def delimiter_of(table: TextFile, quoting: Quoting | None) -> str:
    """The delimiter of a table: a tab unless its name says .csv; then the first that cuts all its first rows alike."""
    if not is_csv(str(table)):
        return "\t"
    lines = [line.decode("utf-8", "replace") + "\n" for line in islice(table.lines(), SAMPLE)]
    with contextlib.suppress(csv.Error):  # a cell that is far too long
        for delimiter in DELIMITERS:
            rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE if quoting == "raw" else csv.QUOTE_ALL)
            cells = [row for row in rows if any(row) and row[0] != "sep="]
            widths = {len(row) for row in cells[:-1] or cells}  # the last one may go on
            if len(widths) == 1 and widths != {1}:
                return delimiter
    return ","


def are_names(cells: Iterable[str], codes: Iterable[str]) -> bool:
    """Whether all cells are names of columns, each of titles or of the code or name of a language among `codes`."""
    known = {code.split("-")[0] for code in map(tag, codes) if code}
    known |= {*map(str.lower, map(name_of, known)), *TITLES.split()}
    words = [re.findall(r"[^\W\d_]+", cell.lower()) for cell in cells]
    return all(cell and {CODES.get(word, word) for word in cell} <= known for cell in words)


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
            f"{table}: not valid CSV, got {error}; expected quotes around cells, or `quoting: raw`"
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
        if not text and not line.strip():
            continue
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
            f"{table}: has quotes around cells, as text or by a CSV writer, got both readings possible; expected "
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
