"""Files that are whole or not there, parallel text read strictly, checksums, JSON, CSV."""

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

LINE_BYTES = 1 << 20  # far longer than any sentence: memory must not follow a file that has no ends of lines


class DataError(ValueError):
    """A file of the user's, or one downloaded, is not what it should be."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `path` when the block ends well and is removed when it does not.

    It lies beside `path` (`.<name>.partial`), so that the last step is one rename on the same disk.
    """
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        name_file(error, path)
        raise
    shutil.rmtree(path, ignore_errors=True)
    partial.replace(path)


@contextmanager
def new_file(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file to write (UTF-8 and \\n, or bytes), which becomes `path` when the block ends well, else is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    try:
        with partial.open(mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        partial.unlink(missing_ok=True)
        name_file(error, path)
        raise
    partial.replace(path)


def name_file(error: BaseException, path: Path) -> None:
    """Have a failed write say what was written; the system names only the files that it failed to open."""
    if isinstance(error, OSError) and error.errno and error.filename is None:
        error.filename = str(path)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; the same value gives the same bytes."""
    with new_file(path) as file:
        file.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one row or more, of the same keys all, as CSV under those keys, atomically."""
    with new_file(path) as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write one line each, atomically; how many there were."""
    count = 0
    with new_file(path) as file:
        for count, line in enumerate(lines, 1):  # noqa: B007 (the count is the result)
            file.write(line + "\n")
    return count


def bounded_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of `file` with their ends, in bounded memory; `name` is what messages call the file.

    Raises: DataError naming the first line of over `LINE_BYTES`.
    """
    for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), 1):
        if len(line) > LINE_BYTES:
            raise DataError(f"{name} line {number}: has over {LINE_BYTES:,} bytes; expected one sentence a line")
        yield line


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; only \\n (or \\r\\n) ends one.

    Raises: DataError naming file and line where the bytes are no UTF-8, or where the line has no end for too long.
    """
    with path.open("rb") as file:
        for number, line in enumerate(bounded_lines(file, str(path)), 1):
            try:
                yield line.rstrip(b"\n").removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path} line {number}: invalid UTF-8, got byte 0x{line[error.start]:02x} at column "
                    f"{error.start + 1}; expected text in UTF-8"
                ) from None


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Line i of `source` with line i of `target`.

    Raises: DataError with both counts where one file is longer.
    """
    for left, right in zip_longest(read_lines(source), read_lines(target)):
        if left is None or right is None:
            raise not_parallel(source, target)
        yield left, right


def not_parallel(source: Path, target: Path) -> DataError:
    """The error for two files that should have the same number of lines."""
    return DataError(
        f"{source} has {count_lines(source)} lines, {target.name} {count_lines(target)}: the two files must be parallel"
    )


def count_lines(path: Path) -> int:
    """How many lines a file has; one without an end counts too."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def sha256(*paths: Path) -> str:
    """Hexadecimal SHA-256 of the files' bytes, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
