"""One member of an archive as a stream: nothing is ever extracted to a path that the archive names.

Memory is bounded, however long the lines and members of an archive are, and however many members it has.
"""

import difflib
import errno
import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from pipeline import files, params, terminal

# No member may unpack to more: the largest side of a public corpus (WMT14 French-English) has some 6 GiB.
MEMBER_BYTES = 16 << 30

ARCHIVE_BYTES = 64 << 30  # of a tar, all members together
HEADER_BYTES = 1 << 16  # what a tar says of one member
DIRECTORY_BYTES = 16 << 20  # what a zip says of all its members, some 150,000
SHOWN_CHARACTERS = 100  # of a name in a message
SHOWN_NAMES = 20
MOST_NAMES = 1000  # compared with one that is missing

# What the standard library raises for archives that are damaged or made to confuse it.
BROKEN = (
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    LookupError,
    RuntimeError,  # NotImplementedError and RecursionError among them
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
)
UNSUPPORTED = (".tar", ".xz", ".txz", ".bz2", ".tbz2", ".zst", ".lzma", ".7z", ".rar")  # endings of what is not read
METHODS = {zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "LZMA"}
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # no fault of the archive


class Unreadable(files.DataError):
    """The file at `path` is not the archive that its name promises."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def archive_kind(address: str) -> str:
    """How the file of an address or path is packed, by its ending: tar, zip, gz, plain, or unsupported."""
    name = (urlsplit(address).path if address.startswith(("http://", "https://")) else address).lower()
    if name.endswith((".tgz", ".tar.gz")):
        return "tar"
    if name.endswith(UNSUPPORTED):
        return "unsupported"
    return name.rpartition(".")[2] if name.endswith((".zip", ".gz")) else "plain"


@contextmanager
def opened(path: Path, address: str, member: str | None = None, most_bytes: int = MEMBER_BYTES) -> Iterator[IO[bytes]]:
    """The bytes of the file at `path`, or of its `member`, unpacked as they are read.

    `address` is the file's name in messages; its ending says how the file is packed.
    Raises: DataError if the archive is damaged, unsafe, or has no such member, or unpacks to over `most_bytes`.
        Errors of the caller's block are not changed.
    """
    kind = archive_kind(address)
    with ExitStack() as stack:
        if kind == "plain":
            yield stack.enter_context(path.open("rb"))
            return
        raw = stack.enter_context(path.open("rb"))
        with explained(path, address):
            if kind == "gz":
                file: Any = stack.enter_context(gzip.open(raw))
            else:
                assert member is not None, address
                file = stack.enter_context((zip_member if kind == "zip" else tar_member)(raw, address, member))
        buffered = io.BufferedReader(Capped(file, path, address, most_bytes), 1 << 16)
        if kind == "gz" and buffered.peek(2)[:2] == b"\x1f\x8b":
            raise Unreadable(f"{address}: packed twice, got a gz file in a gz file; expected text in it", path)
        yield buffered


@contextmanager
def explained(path: Path, address: str) -> Iterator[None]:
    """Give the many errors of a damaged archive one form.

    Raises: Unreadable.
    """
    try:
        yield
    except files.DataError:  # ours, of whole archives
        raise
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise
        packed = f"{archive_kind(address)} file"
        said = terminal.one_line(str(error), SHOWN_CHARACTERS) or type(error).__name__
        raise Unreadable(f"{address}: damaged or no {packed}, got {said}; expected a whole one", path) from None


@contextmanager
def zip_member(raw: IO[bytes], address: str, member: str) -> Iterator[IO[bytes]]:
    """Member `member` of a zip."""
    rationed: Any = Rationed(raw, address, DIRECTORY_BYTES)
    with zipfile.ZipFile(rationed) as archive:
        rationed.bytes_left = None
        infos = {info.filename: info for info in archive.infolist()}
        check_names(infos, address, member)
        info = infos[member]
        if info.is_dir() or (info.external_attr >> 16) & 0o170000 not in (0, 0o100000):
            raise no_file(address, member)
        if info.flag_bits & 1:
            raise files.DataError(f"{address}: member {member!r} is encrypted; expected one without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack gigabytes at once
            method = METHODS.get(info.compress_type, f"method {info.compress_type}")
            raise files.DataError(
                f"{address}: member {member!r} is packed by {method}; expected deflate, or no compression"
            )
        with archive.open(info) as file:
            yield file


@contextmanager
def tar_member(raw: IO[bytes], address: str, member: str) -> Iterator[IO[bytes]]:
    """Member `member` of a tar, which is read twice: all names and the checksum are known only at its end."""
    with gzip.open(raw) as unpacked:
        rationed: Any = Rationed(unpacked, address, HEADER_BYTES)
        with tarfile.open(fileobj=rationed, mode="r:") as archive:
            found: list[tarfile.TarInfo] = []
            check_names(tar_names(archive, rationed, address, member, found), address, member)
            rationed.bytes_left = None
            while unpacked.read(1 << 20):
                if unpacked.tell() > ARCHIVE_BYTES:
                    raise too_much(address, ARCHIVE_BYTES)
            content = archive.extractfile(found[-1]) if found[-1].isreg() else None
            if content is None:
                raise no_file(address, member)
            with content:
                yield content


def tar_names(
    archive: tarfile.TarFile, rationed: "Rationed", address: str, member: str, found: list[tarfile.TarInfo]
) -> Iterator[str]:
    """The names of all members; the entry of `member` goes into `found`, all others are dropped at once.

    Raises: DataError if the members are too large; ReadError if one ends before it begins.
    """
    before = 0
    while (info := archive.next()) is not None:
        if info.size < 0 or archive.offset <= before:  # tarfile would read this header again, without end
            raise tarfile.ReadError(f"member {shown(info.name)}, which ends before it begins")
        before = archive.offset
        if max(archive.offset, info.size) > ARCHIVE_BYTES:
            raise too_much(address, ARCHIVE_BYTES)
        if info.name == member:
            found.append(info)  # of several the last one counts
            del found[:-1]
        archive.members.clear()  # type: ignore[attr-defined]
        archive.pax_headers = {}
        rationed.bytes_left = HEADER_BYTES
        yield info.name


class Rationed:
    """A file that allows reading no more than `bytes_left`; otherwise unchanged."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile, address: str, bytes_left: int) -> None:
        self.file, self.address = file, address
        self.bytes_left: int | None = bytes_left

    def read(self, size: int = -1) -> bytes:
        """The next bytes.

        Raises: DataError if they would be too many.
        """
        if self.bytes_left is None:
            return self.file.read(size)
        block = self.file.read(self.bytes_left + 1) if size < 0 else b""
        if max(size, len(block)) > self.bytes_left:
            raise files.DataError(f"{self.address}: says too much about its members; expected an archive of files")
        if size >= 0:
            block = self.file.read(size)
        self.bytes_left -= len(block)
        return block

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def check_names(names: Iterable[str], address: str, member: str) -> None:
    """Check that an archive has `member`, and no member whose path leads outside.

    Raises: DataError naming the unsafe name, or the member name nearest to the missing one.
    """
    found = False
    readable: list[str] = []
    refuse_unsafe(member, address)
    for name in names:
        refuse_unsafe(name, address)
        found |= name == member
        if len(readable) < MOST_NAMES and len(name) <= SHOWN_CHARACTERS and name.isprintable():
            readable.append(name)
    if not found:
        near = difflib.get_close_matches(member, readable, n=1)
        raise files.DataError(
            f"{address}: has no member {shown(member)}{params.nearest(member, near or readable[:SHOWN_NAMES])}"
        )


def refuse_unsafe(name: str, address: str) -> None:
    """Check that a name does not lead outside the archive.

    Raises: DataError naming it.
    """
    pure = PurePosixPath(name.replace("\\", "/"))
    if ".." in pure.parts or pure.is_absolute() or name[1:2] == ":":
        raise files.DataError(
            f"{address}: unsafe archive member, got {shown(name)}; expected a path inside the archive"
        )


def shown(name: str) -> str:
    """A name as messages show it."""
    return repr(name if len(name) <= SHOWN_CHARACTERS else f"{name[:SHOWN_CHARACTERS]}...")


def no_file(address: str, member: str) -> files.DataError:
    """The error for a member that is a folder or a link."""
    return files.DataError(f"{address}: member {member!r} is a folder or a link; expected a regular file")


def too_much(address: str, most_bytes: int) -> files.DataError:
    """The error for an archive that unpacks to too much: a bomb, or no corpus."""
    return files.DataError(f"{address}: unpacks to more than {most_bytes:,} bytes; expected at most that")


class Capped(io.RawIOBase):
    """A raw stream that ends with an error after `most_bytes`."""

    def __init__(self, file: Any, path: Path, address: str, most_bytes: int) -> None:
        self.file, self.path, self.address, self.most_bytes, self.given_bytes = file, path, address, most_bytes, 0

    def readable(self) -> bool:
        """Yes; io.BufferedReader asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` from the file.

        Raises: DataError past the cap: an archive bomb, or no corpus. Unreadable if the archive is damaged.
        """
        with explained(self.path, self.address):
            block = self.file.read(len(buffer))
        self.given_bytes += len(block)
        if self.given_bytes > self.most_bytes:
            raise too_much(self.address, self.most_bytes)
        buffer[: len(block)] = block
        return len(block)
