"""Atomic files and folders, strict reading of parallel text, checksums, JSON, CSV."""

import csv
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

LINE_BYTES = 1 << 20  # far longer than any sentence: a file without line ends must not fill the memory
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # Lustre unless mounted with -o flock, NFS without lockd
Manifest = dict[str, int]  # relative name of each file below a folder -> its size in bytes

UNFINISHED: dict[Path, Manifest] = {}  # the folders that this process is filling -> the files written into each


class DataError(ValueError):
    """A file of the user, or a downloaded one, is wrong."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill; it becomes `path` if the block ends without an error, and is removed otherwise.

    It lies beside `path` as `.<name>.<random>.partial`: publishing is one rename on the same disk, and no other process
    writes into it. Folders that killed processes left are removed.
    Raises: DataError if another process removes or changes something in it meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, opened = begin_folder(path)
    UNFINISHED[partial] = {}
    try:
        remove_leftovers(path, partial)
        yield partial
        publish(partial, path, opened)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        name_file(error, path)
        raise
    finally:
        del UNFINISHED[partial]
        os.close(opened)


def begin_folder(path: Path) -> tuple[Path, int]:
    """An empty folder beside `path`, and the descriptor that holds its lock.

    Before it is locked, another process may take it for the leftover of a killed one and remove it; then another is
    made.
    """
    while True:
        partial = unfinished(path)
        partial.mkdir()
        with suppress(FileNotFoundError):
            opened = os.open(partial, os.O_RDONLY)
            lock_unfinished(opened)
            if is_at(partial, opened):
                return partial, opened
            os.close(opened)


def is_at(path: Path, opened: int) -> bool:
    """Whether the file or folder that was opened is still the one at `path`."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(opened))
    except FileNotFoundError:
        return False


def publish(partial: Path, path: Path, opened: int) -> None:
    """Rename the folder `partial`, open as `opened`, to `path`, if all that was written is still there.

    Raises: DataError if it is not. NotADirectoryError if there is a file at `path`.
    """
    check_same(partial, path, opened)
    written, found = UNFINISHED[partial], manifest(partial)
    for name, size in written.items():
        if found.get(name) != size:
            got = f"{found[name]} bytes in {name}" if name in found else f"no {name}"
            raise DataError(f"{path}: was changed while it was written, got {got}; expected {size} bytes")
    old = unfinished(path)
    if os.path.lexists(path):
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        path.rename(old)
    partial.rename(path)
    shutil.rmtree(old, ignore_errors=True)
    check_same(path, path, opened)
    if manifest(path) != found:
        path.rename(partial)  # where the caller removes it
        raise DataError(f"{path}: was changed while it was published; expected no other process there")


def check_same(folder: Path, path: Path, opened: int) -> None:
    """Check that `folder`, which is or becomes `path`, is still the one that was opened.

    Raises: DataError if it was removed or replaced.
    """
    if not is_at(folder, opened):
        raise DataError(f"{path}: was removed while it was written; expected no other process there")


def manifest(folder: Path) -> Manifest:
    """Every file below a folder and its size."""
    found = {path.relative_to(folder).as_posix(): path.lstat() for path in folder.rglob("*")}
    return {name: state.st_size for name, state in found.items() if not stat.S_ISDIR(state.st_mode)}


def record_written(path: Path) -> None:
    """Record the size of a written file, which `new_folder` checks before it publishes its folder.

    `new_file` does so itself; call this for files that a library wrote.
    """
    if holder := holder_of(path):
        UNFINISHED[holder][path.relative_to(holder).as_posix()] = path.stat().st_size


def holder_of(path: Path) -> Path | None:
    """The unfinished folder that a path lies in, if any."""
    return next((folder for folder in UNFINISHED if folder in path.parents), None)


@contextmanager
def new_file(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """A file to write (UTF-8 and \\n, or bytes); it becomes `path` if the block ends without an error, else is removed.

    The folder above is made if it is missing, except a folder of `new_folder` that another process removed.
    Raises: DataError if `path` is a device, a pipe or a folder: a rename would replace it by a file.
    """
    check_replaceable(path)
    holder = holder_of(path)
    if holder is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    else:
        make_below(holder, path)
    partial, opened = begin_file(path)
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    try:
        with open(opened, mode, encoding=encoding, newline=newline) as file:
            if holder is None:
                remove_leftovers(path, partial)
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        record_written(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        name_file(error, path)
        raise


def begin_file(path: Path) -> tuple[Path, int]:
    """As `begin_folder`, for an empty file."""
    while True:
        partial = unfinished(path)
        opened = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        lock_unfinished(opened)
        if is_at(partial, opened):
            return partial, opened
        os.close(opened)


def check_replaceable(path: Path) -> None:
    """Check that `path` is free or an ordinary file.

    Raises: DataError saying what it is.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise DataError(f"{path}: is {KINDS.get(stat.S_IFMT(mode), 'no file')}; expected an ordinary file, or none")


def make_below(holder: Path, path: Path) -> None:
    """Make the folders between an unfinished one and a file in it.

    Raises: DataError if the unfinished one is gone.
    """
    try:
        os.stat(holder)
        for above in reversed([above for above in path.parents if holder in above.parents]):
            above.mkdir(exist_ok=True)
    except FileNotFoundError:
        raise DataError(
            f"{path}: its folder was removed while it was written; expected no other process there"
        ) from None


def unfinished(path: Path) -> Path:
    """A new name beside `path` for the file or folder that becomes `path` once it is complete."""
    return path.with_name(f".{path.name}.{token()}.partial")


def token() -> str:
    """Eight random letters and digits."""
    return secrets.token_hex(4)


def lock_unfinished(opened: int) -> None:
    """Lock an unfinished file or folder, to show other processes that it is being written; needs a file system's locks.

    Waits for a process that holds the lock in order to remove it as a leftover.
    """
    with suppress(OSError):
        fcntl.flock(opened, fcntl.LOCK_EX)


def flock(file: IO[str], how: int) -> None:
    """Lock an open file as `fcntl.flock` does; on a file system without locks, do nothing.

    Raises: BlockingIOError if another process holds the lock and `how` says not to wait.
    """
    try:
        fcntl.flock(file, how)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def remove_leftovers(path: Path, mine: Path) -> None:
    """Remove the unfinished files and folders of `path` that killed processes left."""
    pattern = re.compile(rf"\.{re.escape(path.name)}(\.[0-9a-f]{{8}})?\.partial")
    for entry in list(os.scandir(path.parent)):
        if pattern.fullmatch(entry.name) and entry.name != mine.name:
            remove_left(entry)


def remove_left(entry: os.DirEntry[str]) -> None:
    """Remove an unfinished file or folder unless a process holds its lock; the lock is held here meanwhile."""
    if entry.is_symlink():
        Path(entry.path).unlink(missing_ok=True)
        return
    with suppress(OSError):
        opened = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)
        finally:
            os.close(opened)


def copy_file(old: Path, new: Path) -> None:
    """Copy a file byte for byte to where `new_file` could write it."""
    shutil.copyfile(old, new)
    record_written(new)


def name_file(error: BaseException, path: Path) -> None:
    """Add the path to the error of a failed write; the system names only files that it failed to open."""
    if isinstance(error, OSError) and error.errno and error.filename is None:
        error.filename = str(path)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; the same value gives the same bytes."""
    with new_file(path) as file:
        file.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises: DataError if the file is missing or not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; expected JSON that an earlier stage writes") from None
    except (ValueError, RecursionError) as error:
        what = f"line {error.lineno} column {error.colno}" if isinstance(error, json.JSONDecodeError) else "bytes"
        raise DataError(f"{path}: not valid JSON, got {what}; expected what an earlier stage writes") from None


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file under the names in its first line.

    Raises: DataError if the file is missing, is not UTF-8 or has no row, or a row has more or fewer values.
    """
    try:
        rows = list(csv.DictReader(read_lines(path), strict=True))
    except csv.Error as error:
        raise DataError(f"{path}: not valid CSV, {error}; expected what an earlier stage writes") from None
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise DataError(f"{path}: row {number} does not fit the first line; expected as many values as names")
    if not rows:
        raise DataError(f"{path}: is empty, got 0 rows; expected what an earlier stage writes")
    return rows


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one or more rows, all with the same keys, as CSV under those keys, atomically."""
    with new_file(path) as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write the lines, atomically; returns how many."""
    count = 0
    with new_file(path) as file:
        for count, line in enumerate(lines, 1):  # noqa: B007 (the count is the result)
            file.write(line + "\n")
    return count


def bounded_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of `file` with their ends, in bounded memory; `name` is the file's name in messages.

    Raises: DataError naming the first line with more than `LINE_BYTES`, with the end that the last one may lack.
    """
    for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), 1):
        if len(line) + (not line.endswith(b"\n")) > LINE_BYTES:
            raise DataError(f"{name} line {number}: has over {LINE_BYTES:,} bytes; expected one sentence a line")
        yield line


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; only \\n (or \\r\\n) ends one.

    Raises: DataError if the file is missing, or naming file and line if the bytes are not UTF-8 or the line is too
        long.
    """
    with opened(path) as file:
        for number, line in enumerate(bounded_lines(file, str(path)), 1):
            try:
                yield line.rstrip(b"\n").removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError as error:
                raise not_utf8(f"{path} line {number}", error) from None


def not_utf8(where: str, error: UnicodeDecodeError) -> DataError:
    """The error for a line that is not UTF-8; columns count bytes, from 1."""
    byte = error.object[error.start]
    return DataError(
        f"{where}: invalid UTF-8, got byte 0x{byte:02x} at column {error.start + 1}; expected text in UTF-8"
    )


def opened(path: Path) -> IO[bytes]:
    """A file to read.

    Raises: DataError if it is missing.
    """
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; expected what an earlier stage writes") from None


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Line i of `source` with line i of `target`.

    Raises: DataError with both counts if one file is longer.
    """
    for left, right in zip_longest(read_lines(source), read_lines(target)):
        if left is None or right is None:
            raise not_parallel(source, target)
        yield left, right


def not_parallel(source: Path, target: Path) -> DataError:
    """The error for two files that should have the same number of lines."""
    other = target.name if target.parent == source.parent else target
    return DataError(
        f"{source} has {count_lines(source)} lines, {other} {count_lines(target)}: the two files must be parallel"
    )


def count_lines(path: Path) -> int:
    """How many lines a file has; one without an end counts too."""
    count, last = 0, b"\n"
    with opened(path) as file:
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
