"""One member of an archive as a stream: nothing is ever extracted to a path that the archive names."""

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from pipeline import files, params

# No member may unpack to more: the largest side of a public corpus (WMT14 French-English) has some 6 GiB.
MEMBER_BYTES = 16 << 30

BROKEN = (EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, NotImplementedError)


class Unreadable(files.DataError):
    """The file at `path` is not the archive that its name promises."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def archive_kind(address: str) -> str:
    """How the file of an address or path is packed, by its ending: tar, zip, gz or plain."""
    name = urlsplit(address).path.lower()
    if name.endswith((".tgz", ".tar.gz")):
        return "tar"
    return name.rpartition(".")[2] if name.endswith((".zip", ".gz")) else "plain"


@contextmanager
def opened(path: Path, address: str, member: str | None = None, most_bytes: int = MEMBER_BYTES) -> Iterator[IO[bytes]]:
    """The bytes of the file at `path`, or of its `member`, unpacked as they are read.

    `address` is what the messages call the file, and its ending says how it is packed.
    Raises: DataError where the archive is damaged, unsafe, or has no such member, or unpacks to over `most_bytes`.
    """
    kind = archive_kind(address)
    with ExitStack() as stack:
        if kind == "plain":
            yield stack.enter_context(path.open("rb"))
            return
        with explained(path, address):
            if kind == "gz":
                file: Any = stack.enter_context(gzip.open(path))
            else:
                assert member is not None, address
                file = stack.enter_context((zip_member if kind == "zip" else tar_member)(path, address, member))
        yield io.BufferedReader(Capped(file, path, address, most_bytes), 1 << 16)


@contextmanager
def explained(path: Path, address: str) -> Iterator[None]:
    """Give the many errors of a damaged archive one form.

    Raises: Unreadable.
    """
    try:
        yield
    except BROKEN as error:
        packed = f"{archive_kind(address)} file"
        raise Unreadable(
            f"{address}: damaged or no {packed}, got {str(error) or type(error).__name__}; expected a whole one", path
        ) from None


@contextmanager
def zip_member(path: Path, address: str, member: str) -> Iterator[IO[bytes]]:
    """Member `member` of a zip."""
    with zipfile.ZipFile(path) as archive:
        infos = {info.filename: info for info in archive.infolist()}
        check_names(infos, address, member)
        info = infos[member]
        if info.is_dir() or (info.external_attr >> 16) & 0o170000 not in (0, 0o100000):
            raise no_file(address, member)
        if info.flag_bits & 1:
            raise files.DataError(f"{address}: member {member!r} is encrypted; expected one without a password")
        with archive.open(info) as file:
            yield file


@contextmanager
def tar_member(path: Path, address: str, member: str) -> Iterator[IO[bytes]]:
    """Member `member` of a tar; read twice, for only its end tells all names and the checksum."""
    with gzip.open(path) as file, tarfile.open(fileobj=file, mode="r:") as archive:
        infos = {info.name: info for info in archive}
        while file.read(1 << 20):
            pass
        check_names(infos, address, member)
        content = archive.extractfile(infos[member]) if infos[member].isreg() else None
        if content is None:
            raise no_file(address, member)
        with content:
            yield content


def check_names(names: Iterable[str], address: str, member: str) -> None:
    """Pass an archive that has `member` and names no path outside itself.

    Raises: DataError naming the unsafe name, or the member name nearest to the missing one.
    """
    names = list(names)
    for name in [member, *names]:
        pure = PurePosixPath(name.replace("\\", "/"))
        if ".." in pure.parts or pure.is_absolute() or name[1:2] == ":":
            raise files.DataError(f"{address}: unsafe archive member, got {name!r}; expected a path inside the archive")
    if member not in names:
        raise files.DataError(f"{address}: has no member {member!r}{params.nearest(member, names[:1000])}")


def no_file(address: str, member: str) -> files.DataError:
    """The error for a member that is a folder or a link."""
    return files.DataError(f"{address}: member {member!r} is a folder or a link; expected a regular file")


class Capped(io.RawIOBase):
    """A raw stream that counts what it gives and gives no more than `most_bytes`."""

    def __init__(self, file: Any, path: Path, address: str, most_bytes: int) -> None:
        self.file, self.path, self.address, self.most_bytes, self.given_bytes = file, path, address, most_bytes, 0

    def readable(self) -> bool:
        """Yes; io.BufferedReader asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` from the file.

        Raises: DataError past the cap: an archive bomb, or no corpus. Unreadable where the archive is damaged.
        """
        with explained(self.path, self.address):
            block = self.file.read(len(buffer))
        self.given_bytes += len(block)
        if self.given_bytes > self.most_bytes:
            raise files.DataError(
                f"{self.address}: unpacks to more than {self.most_bytes:,} bytes; expected at most that"
            )
        buffer[: len(block)] = block
        return len(block)
