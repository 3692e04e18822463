"""Files and folders that appear whole or not at all; strict reading of parallel text, JSON and CSV; checksums."""

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, TypeVar

F = TypeVar("F")
T = TypeVar("T")

LINE_BYTES = 1 << 20  # far longer than any sentence: a file without line ends must not fill the memory


class DataError(ValueError):
    """A file of the user, or a downloaded one, is wrong."""


class NotParallel(DataError):
    """Two texts have different numbers of lines."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill; it becomes `path` if the block ends without an error, and is removed otherwise.

    It is `.<name>.partial` beside `path`, so that publishing is a rename; what a killed process left there is removed.
    """
    with partial_path(path) as partial:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        if path.is_dir():
            shutil.rmtree(path)
        partial.rename(path)


@contextmanager
def new_file(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file to write (UTF-8 and \\n, or bytes); it becomes `path` if the block ends without an error, else is removed.

    Raises: DataError if `path` is a folder or a device: a rename would replace it by a file.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: is {'a folder' if path.is_dir() else 'a device'}; expected a file to write")
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    with partial_path(path) as partial:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open(mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


@contextmanager
def partial_path(path: Path) -> Iterator[Path]:
    """Where a file or folder is written before it becomes `path`; removed if the block fails.

    A failed write names `path`: the system names only files that it failed to open.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
    except BaseException as error:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = str(path)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; the same value gives the same bytes."""
    with new_file(path) as file:
        file.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises: DataError if the file is missing or not JSON.
    """
    with opened(path) as file:
        try:
            return json.load(file)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: not valid JSON ({error}); expected what an earlier stage writes") from None


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one or more rows as CSV under the keys of the last one, which others may lack, atomically."""
    with new_file(path) as file:
        table = csv.DictWriter(file, list(rows[-1]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file under the names in its first line.

    Raises: DataError if the file is missing or has no row.
    """
    rows = list(csv.DictReader(read_lines(path)))
    if not rows:
        raise DataError(f"{path}: has no rows; expected what an earlier stage writes")
    return rows


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write the lines, atomically; returns how many."""
    count = 0
    with new_file(path) as file:
        for count, line in enumerate(lines, 1):  # noqa: B007 (the count is the result)
            file.write(line + "\n")
    return count


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; only \\n (or \\r\\n) ends one.

    Raises: DataError if the file is missing, or naming file and line if it is not UTF-8 or too long.
    """
    with opened(path) as file:
        for number, line in enumerate(bounded_lines(file.readline, str(path)), 1):
            yield decoded(line.rstrip(b"\n").removesuffix(b"\r"), str(path), number)


def all_lines(path: Path) -> list[bytes]:
    """The lines of a text that an earlier stage wrote, all in memory, not decoded.

    Raises: DataError if the file is missing.
    """
    with opened(path) as file:
        return file.read().split(b"\n")[:-1]


def bounded_lines(readline: Callable[[int], bytes], name: str) -> Iterator[bytes]:
    """The lines of a file with their ends, in bounded memory; `name` is the file's name in messages.

    Raises: DataError naming the first line with more than `LINE_BYTES`, with the end that the last one may lack.
    """
    for number, line in enumerate(iter(lambda: readline(LINE_BYTES + 1), b""), 1):
        if len(line) + (not line.endswith(b"\n")) > LINE_BYTES:
            raise DataError(f"{name} line {number}: has over {LINE_BYTES:,} bytes; expected one sentence a line")
        yield line


def decoded(line: bytes, name: str, number: int) -> str:
    """The text of a line.

    Raises: DataError naming file, line, byte and, counted in bytes from 1, its column if the line is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{name} line {number}: invalid UTF-8, got byte 0x{line[error.start]:02x} at column {error.start + 1}"
        raise DataError(
            f"{where}, perhaps of ISO-8859-1 or Windows-1252; expected UTF-8, as `iconv -f WINDOWS-1252 -t UTF-8` "
            "writes it"
        ) from None


def opened(path: Path) -> IO[bytes]:
    """A file to read.

    Raises: DataError if it is missing.
    """
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; expected what an earlier stage writes") from None


def parallel(source: F, target: F, read: Callable[[F], Iterator[T]]) -> Iterator[tuple[T, T]]:
    """What `read` gives of two files, side by side.

    Raises: NotParallel with both counts if one file is longer.
    """
    for left, right in zip_longest(read(source), read(target)):
        if left is None or right is None:
            raise not_parallel(source, target, read)
        yield left, right


def not_parallel(source: F, target: F, read: Callable[[F], Iterator[Any]]) -> NotParallel:
    """The error for two files that should have the same number of lines."""
    counts = [sum(1 for _ in read(file)) for file in (source, target)]
    return NotParallel(f"{source} has {counts[0]} lines, {target} {counts[1]}: the two files must be parallel")


def sha256(*paths: Path) -> str:
    """Hexadecimal SHA-256 of the files' bytes, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()
