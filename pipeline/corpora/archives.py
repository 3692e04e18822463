"""The bytes of a file that is plain, packed, or a member of an archive; nothing is extracted to a path."""

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

from ..common import files, params

TARS = (".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
UNSUPPORTED = (".zst", ".lzma", ".7z", ".rar", ".xlsx", ".xls", ".ods")
# Endings of files that are packed alone, how these begin, and what reads them.
PACKED: dict[str, tuple[bytes, Callable[..., Any]]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ\0", lzma.open),
}
FOREIGN = {b"PK\x03\x04": "a zip or .xlsx file", b"\xd0\xcf\x11\xe0": "an office file", b"\x28\xb5\x2f\xfd": "zstd"}
# What the standard library raises for a damaged archive; RuntimeError is for an encrypted member.
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, RuntimeError)
HEADER_BYTES = 1 << 20  # of a tar's member
MOST_MEMBERS = 50_000  # of a tar, which are kept in memory


class Damaged(files.DataError):
    """A file is not the archive that its name promises."""


def archive_kind(address: str) -> str:
    """What the file of an address or path is, by its ending: tar, zip, unsupported, or a file of one text."""
    name = (urlsplit(address).path if address.startswith(("http://", "https://")) else address).lower()
    kinds = {"tar": TARS, "zip": (".zip",), "unsupported": UNSUPPORTED}
    return next((kind for kind, endings in kinds.items() if name.endswith(endings)), "file")


@contextmanager
def opened(path: Path, address: str, member: str | None = None) -> Iterator[IO[bytes]]:
    """The bytes of the file at `path`, or of its `member`, unpacked as they are read.

    `address` is the file's name in messages; its ending says whether it is an archive.
    Raises: DataError if the archive has no such member; Damaged if it is broken, also while the block reads.
    """
    kind = archive_kind(address)
    try:
        if kind == "zip":
            with zipfile.ZipFile(path) as archive:
                if member not in archive.namelist():
                    nearest = params.nearest(str(member), archive.namelist())
                    raise files.DataError(f"{address}: has no member {member!r}{nearest}")
                with archive.open(str(member)) as file:
                    yield file
        else:
            with unpacked(path, address) as file:
                yield tar_member(file, address, str(member)) if kind == "tar" else file
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        got = str(error) or type(error).__name__
        of_one_text = suffix[1:] if (suffix := Path(address).suffix) in PACKED else "packed"
        what = of_one_text if kind == "file" else kind
        raise Damaged(f"{address}: damaged or no {what} file, got {got}; expected a whole one") from None


def unpacked(path: Path, address: str) -> IO[bytes]:
    """A file that is plain or packed alone, which its first bytes say.

    Raises: DataError if it is packed or written in another way; Damaged if its name promises what it is not.
    """
    with path.open("rb") as file:
        begin = file.read(8)
    if read := next((read for magic, read in PACKED.values() if begin.startswith(magic)), None):
        return cast(IO[bytes], read(path))
    if foreign := next((what for magic, what in FOREIGN.items() if begin.startswith(magic)), None):
        raise files.DataError(f"{address}: is {foreign}; expected text: unpack it, or save it as text, first")
    if begin and Path(urlsplit(address).path.lower()).suffix in PACKED:
        raise tarfile.ReadError(f"{begin!r} at its beginning")
    return path.open("rb")


class Headers:
    """A tar file whose headers are bounded, whatever size they claim."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int) -> bytes:
        """So many bytes."""
        if size > HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        return self.file.read(size)


def tar_member(file: IO[bytes], address: str, member: str) -> IO[bytes]:
    """A member of a tar file, found in bounded memory.

    Raises: DataError if there is none, or it is no regular file.
    """
    archive = tarfile.open(fileobj=cast(Any, Headers(file)), mode="r:")  # noqa: SIM115 (the caller closes the file)
    for number, info in enumerate(archive):
        if number == MOST_MEMBERS:
            raise files.DataError(f"{address}: has over {MOST_MEMBERS:,} members; expected fewer")
        if info.name == member:
            if content := archive.extractfile(info) if info.isfile() else None:
                return content
            raise files.DataError(f"{address}: member {member!r} is a folder or a link; expected a regular file")
    raise files.DataError(f"{address}: has no member {member!r}{params.nearest(member, archive.getnames())}")
