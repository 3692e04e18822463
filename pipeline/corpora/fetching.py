"""Downloads, kept on disk: fetched once, verified, and resumed if the connection breaks."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline import files
from pipeline.corpora import transfer


@dataclass(frozen=True)
class Store:
    """The folder of fetched files, and how patiently to fetch.

    Units: `attempts` in a row that bring nothing new; the pause between them doubles each time.
    """

    folder: Path
    mirror: str | None = None  # a folder or an http address, asked first for <host>/<path>
    timeout_seconds: float = 30.0  # without a byte
    attempts: int = 5
    pause_seconds: float = 1.0

    def path(self, address: str) -> Path:
        """The path of the file of `address` once it is fetched."""
        name = Path(urlsplit(address).path).name.encode()[-100:].decode(errors="ignore")
        return self.folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}-{name}"

    def fetch(self, address: str, sha256: str | None = None, purpose: str = "") -> Path:
        """The file of `address` on disk; if the store lacks it, it is fetched, from the mirror first.

        A file that was doubted for the same `purpose` is fetched again.
        Raises: DataError if the file does not exist, is incomplete, or has another SHA-256 than `sha256`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(address)
        with locked(path.with_name(f"{path.name}.lock")):
            if not self.keeps(path, sha256, purpose):
                partial = path.with_name(f"{path.name}.partial")
                self.bring(address, partial, sha256)
                partial.replace(path)
                transfer.state_path(partial).unlink(missing_ok=True)
                doubt_path(path).unlink(missing_ok=True)
        return path

    def keeps(self, path: Path, sha256: str | None, purpose: str) -> bool:
        """Whether there is a file at `path` that may be used."""
        if not path.exists():
            return False
        if sha256 is not None:
            return files.sha256(path) == sha256
        doubt = doubt_path(path)
        return not (doubt.exists() and doubt.read_text(encoding="utf-8") == purpose)

    def doubt(self, address: str, purpose: str) -> None:
        """Have the file of `address` fetched again when it is next asked for with the same `purpose`.

        It was no use for that, and a server that sent the wrong bytes may send the right ones next time. For another
        purpose it is kept: a name mistyped in corpora/<corpus>.yaml costs no second download of gigabytes.
        """
        path = self.path(address)
        if path.exists():
            with files.new_file(doubt_path(path)) as file:
                file.write(purpose)

    def bring(self, address: str, partial: Path, sha256: str | None) -> None:
        """Fill `partial` from the mirror, or from the address if the mirror has none.

        Raises: DataError if the file does not exist, is incomplete, or is a web page.
        """
        origin = self.mirrored(address)
        if origin is not None and is_address(origin):
            try:
                self.download(origin, partial, verified=sha256 is not None)
                verify(partial, sha256, f"{address} (from the mirror, {origin})", origin)
            except transfer.NotThere:
                pass  # what an earlier fetch from the address itself has left stays, and is gone on with
            else:
                return
        elif origin is not None and os.path.isfile(origin):  # false too for a name that no file may have
            copy(address, Path(origin), partial)
            verify(partial, sha256, f"{address} (from the mirror, {origin})", origin)
            return
        self.download(address, partial, verified=sha256 is not None)
        verify(partial, sha256, address, address)

    def mirrored(self, address: str) -> str | None:
        """The mirror's path or address of the file of `address`; None without a mirror, or if a query names the file.

        Two files of one path, such as `get?f=a` and `get?f=b`, would be one file of the mirror.
        """
        parts = urlsplit(address)
        if not self.mirror or parts.query:
            return None
        path = parts.path if is_address(self.mirror) else unquote(parts.path)
        below = f"{parts.netloc.rpartition('@')[2]}{path}"  # a mirror gets no password of another server
        return None if ".." in Path(below).parts else f"{self.mirror.rstrip('/')}/{below}"

    def download(self, address: str, partial: Path, *, verified: bool = False) -> None:
        """Fill `partial` over HTTP, continuing after an earlier fetch and after each lost connection."""
        best, failures = transfer.size_of(partial), 0
        while not transfer.complete(address, partial):
            began = time.monotonic()
            try:
                transfer.receive(address, partial, self.timeout_seconds, verified=verified)
                return
            except transfer.Interrupted as error:
                size, seconds = transfer.size_of(partial), time.monotonic() - began
                failures = 0 if size - best > transfer.SLOWEST * seconds else failures + 1
                best = max(best, size)
                if failures >= self.attempts:
                    raise files.DataError(
                        f"{address}: {error}, tried {failures} times; expected a whole file"
                    ) from None
            time.sleep(self.pause_seconds * 2 ** max(failures - 1, 0))


def doubt_path(path: Path) -> Path:
    """The file that notes the purpose for which the one at `path` was useless."""
    return path.with_name(f"{path.name}.doubt")


def is_address(place: str) -> bool:
    """Whether `place` is an HTTP address rather than a path."""
    return place.startswith(("http://", "https://"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A block that one process at a time runs, by a lock on `path`; the lock ends with its process.

    On a file system without locks, processes do not wait for each other.
    """
    with path.open("w") as file:
        files.flock(file, fcntl.LOCK_EX)
        yield


def verify(partial: Path, sha256: str | None, what: str, origin: str) -> None:
    """Check that a file has the SHA-256 or, if that is None, that it is neither empty nor a web page; else delete it.

    `what` is the file's name in messages, `origin` the address or path it came from.
    Raises: DataError with both checksums, or saying that the file is empty; NotThere for a web page.
    """
    error = None
    if sha256 is not None:
        if (got := files.sha256(partial)) != sha256:
            error = files.DataError(f"{what}: the checksum differs, got sha256 {got}; expected {sha256}")
    elif transfer.size_of(partial) == 0:
        error = files.DataError(f"{what}: is empty, got 0 bytes; expected a file")
    elif transfer.is_page(partial) and not transfer.is_page_name(origin):
        error = transfer.NotThere(f"{what}: holds a web page (HTML); expected a file at this address")
    if error is not None:
        transfer.discard(partial)
        raise error


def copy(address: str, origin: Path, partial: Path) -> None:
    """Copy a mirror's file, from its start: copying is fast.

    Raises: DataError if it cannot be read.
    """
    transfer.state_path(partial).unlink(missing_ok=True)
    try:
        file = origin.open("rb")
    except OSError as error:
        raise files.DataError(
            f"{address} (from the mirror, {origin}): cannot be read, got {error.strerror}; expected a readable file"
        ) from None
    with file, partial.open("wb") as out:
        shutil.copyfileobj(file, out, transfer.BLOCK_BYTES)
        transfer.flush(out)
