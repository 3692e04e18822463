"""The bytes of a file that is plain, a .gz, or a member of a .zip or .tgz; nothing is extracted to a path."""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

from ..common import files, params

UNSUPPORTED = (".tar", ".xz", ".txz", ".bz2", ".tbz2", ".zst", ".lzma", ".7z", ".rar")
# What the standard library raises for a damaged archive; RuntimeError is for an encrypted member.
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError, RuntimeError)


class Damaged(files.DataError):
    """A file is not the archive that its name promises."""


def archive_kind(address: str) -> str:
    """How the file of an address or path is packed, by its ending: tar, zip, gz, plain, or unsupported."""
    name = (urlsplit(address).path if address.startswith(("http://", "https://")) else address).lower()
    if name.endswith((".tgz", ".tar.gz")):
        return "tar"
    if name.endswith(UNSUPPORTED):
        return "unsupported"
    return name.rpartition(".")[2] if name.endswith((".zip", ".gz")) else "plain"


@contextmanager
def opened(path: Path, address: str, member: str | None = None) -> Iterator[IO[bytes]]:
    """The bytes of the file at `path`, or of its `member`, unpacked as they are read.

    `address` is the file's name in messages; its ending says how the file is packed.
    Raises: DataError if the archive has no such member; Damaged if it is broken, also while the block reads.
    """
    kind = archive_kind(address)
    try:
        if kind == "zip":
            with zipfile.ZipFile(path) as archive:
                check_member(archive.namelist(), address, str(member))
                with archive.open(str(member)) as file:
                    yield file
        elif kind == "tar":
            with tarfile.open(path, "r:gz") as archive:
                check_member(archive.getnames(), address, str(member))
                content = archive.extractfile(str(member))
                if content is None:
                    raise files.DataError(f"{address}: member {member!r} is a folder; expected a regular file")
                yield content
        else:
            with gzip.open(path) if kind == "gz" else path.open("rb") as plain:
                yield cast(IO[bytes], plain)
    except BROKEN as error:
        got = str(error) or type(error).__name__
        raise Damaged(f"{address}: damaged or no {kind} file, got {got}; expected a whole one") from None


def check_member(names: list[str], address: str, member: str) -> None:
    """Check that an archive has a member.

    Raises: DataError naming the nearest one.
    """
    if member not in names:
        raise files.DataError(f"{address}: has no member {member!r}{params.nearest(member, names)}")
