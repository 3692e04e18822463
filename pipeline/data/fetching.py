"""Files by address, kept on disk: whole, verified, fetched once, resumed where a fetch was cut."""

import fcntl
import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline import files
from pipeline.data import transfer


@dataclass(frozen=True)
class Store:
    """The folder that keeps what was fetched, and how patiently to fetch.

    Units: `attempts` in a row that bring nothing new; the pause between them doubles each time.
    """

    folder: Path
    mirror: str | None = None  # a folder or an http address, asked first for <host>/<path>
    timeout_seconds: float = 30.0  # without a byte
    attempts: int = 5
    pause_seconds: float = 1.0

    def path(self, address: str) -> Path:
        """Where the file of `address` stands once fetched."""
        name = Path(urlsplit(address).path).name[-100:]
        return self.folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}-{name}"

    def fetch(self, address: str, sha256: str | None = None) -> Path:
        """The file of `address` on disk: the one kept, or fetched now, from the mirror first.

        Raises: DataError where the file is not there, does not come whole, or has another SHA-256 than `sha256`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(address)
        with locked(path.with_name(f"{path.name}.lock")):
            if not path.exists() or (sha256 is not None and files.sha256(path) != sha256):
                partial = path.with_name(f"{path.name}.partial")
                origin = self.bring(address, partial)
                verify(partial, sha256, address if origin == address else f"{address} (from the mirror, {origin})")
                partial.replace(path)
                transfer.state_path(partial).unlink(missing_ok=True)
        return path

    def bring(self, address: str, partial: Path) -> str:
        """Fill `partial` from the mirror, or from the address where the mirror has none; which of the two it was."""
        origin = self.mirrored(address)
        if origin is not None and is_address(origin):
            try:
                self.download(origin, partial)
            except transfer.NotThere:
                pass
            else:
                return origin
        elif origin is not None and Path(origin).is_file():
            copy(Path(origin), partial)
            return origin
        self.download(address, partial)
        return address

    def mirrored(self, address: str) -> str | None:
        """Where the mirror would have the file of `address`; None without a mirror."""
        if not self.mirror:
            return None
        parts = urlsplit(address)
        path = parts.path if is_address(self.mirror) else unquote(parts.path)
        return None if ".." in Path(path).parts else f"{self.mirror.rstrip('/')}/{parts.netloc}{path}"

    def download(self, address: str, partial: Path) -> None:
        """Fill `partial` over HTTP, going on where an earlier fetch stopped, however often it is cut."""
        best, failures = transfer.size_of(partial), 0
        while not transfer.complete(address, partial):
            try:
                transfer.receive(address, partial, self.timeout_seconds)
                return
            except transfer.Interrupted as error:
                failures = 0 if transfer.size_of(partial) > best else failures + 1
                best = max(best, transfer.size_of(partial))
                if failures >= self.attempts:
                    raise files.DataError(
                        f"{address}: {error}, tried {failures} times; expected a whole file"
                    ) from None
            time.sleep(self.pause_seconds * 2 ** max(failures - 1, 0))


def is_address(place: str) -> bool:
    """Whether `place` is an HTTP address rather than a path."""
    return place.startswith(("http://", "https://"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else is in a block of the same `path` meanwhile; the lock goes with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def verify(partial: Path, sha256: str | None, origin: str) -> None:
    """Pass a file with the expected SHA-256, delete any other.

    Raises: DataError with both sums.
    """
    if sha256 is not None and (got := files.sha256(partial)) != sha256:
        partial.unlink()
        transfer.state_path(partial).unlink(missing_ok=True)
        raise files.DataError(f"{origin}: the checksum differs, got sha256 {got}; expected {sha256}")


def copy(origin: Path, partial: Path) -> None:
    """Copy a mirror's file; a partial one is never resumed, for copying costs nothing."""
    transfer.state_path(partial).unlink(missing_ok=True)
    with origin.open("rb") as file, partial.open("wb") as out:
        shutil.copyfileobj(file, out, transfer.BLOCK_BYTES)
        transfer.flush(out)
