"""Downloads, kept on disk: fetched once, verified, and resumed if the connection breaks."""

import hashlib
import math
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests
from filelock import FileLock
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, Retry
from urllib3.exceptions import HTTPError

from ..common import files
from ..console import progress

BLOCK_BYTES = 1 << 20
TIMEOUT_SECONDS = 30  # without a byte
ATTEMPTS = 5  # in a row that bring nothing new
QUESTIONS = 2  # attempts, at a question that a user waits for


class PatientRetry(Retry):
    """Says how long a server asks to wait; `retry_after_max` bounds it."""

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Seconds to wait, if the server names them."""
        if seconds := super().get_retry_after(response):
            progress.say(str(response.geturl() or "server"), f"asks to wait; the next try is in {seconds:.0f} s")
        return seconds


# Before an answer begins; `download` goes on after one that breaks off.
RETRY = PatientRetry(
    total=ATTEMPTS,
    backoff_factor=1,
    status_forcelist=(429, 500, 502, 503, 504),
    raise_on_status=False,
    retry_after_max=60,  # seconds
)


class NotThere(files.DataError):
    """The server has no such file."""


@dataclass(frozen=True)
class Downloads:
    """The folder of fetched files, and the mirror that is asked before the published address."""

    folder: Path
    mirror: str | None = None  # a folder or an http address that has the files as <host>/<path>

    def path(self, address: str) -> Path:
        """The path of the file of `address` once it is fetched."""
        name = Path(urlsplit(address).path).name.encode()[-100:].decode(errors="ignore")
        return self.folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}-{name}"

    def fetch(self, address: str, sha256: str | None = None) -> Path:
        """The file of `address` on disk: in the mirror's folder, or fetched once.

        Raises: DataError if the file does not exist, is incomplete, or has another SHA-256 than `sha256`.
        """
        mirrored = self.mirrored(address)
        if mirrored is not None and not is_address(mirrored) and Path(mirrored).is_file():
            check_sha256(Path(mirrored), f"{address} (from the mirror, {mirrored})", sha256)
            return Path(mirrored)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(address)
        with FileLock(f"{path}.lock"):  # another corpus may need the same file
            if not path.exists() or (sha256 and files.sha256(path) != sha256):
                partial = path.with_name(f"{path.name}.partial")
                for place in filter(is_address, (mirrored or "", address)):
                    try:
                        download(place, partial)
                        break
                    except NotThere:
                        if place == address:
                            raise
                check_sha256(partial, address, sha256)
                partial.replace(path)
        return path

    def ask(self, address: str, query: dict[str, str], name: str) -> bytes:
        """What a service, or a mirror of it, answers, which is not kept; in a mirror's folder it is the file `name`.

        Raises: DataError if nobody answers, or there is no answer.
        """
        mirrored = self.mirrored(address)
        if mirrored and not is_address(mirrored) and (path := Path(mirrored, name)).is_file():
            return path.read_bytes()
        for place in filter(is_address, (mirrored or "", address)):
            try:
                with session(QUESTIONS).get(place, params=query, timeout=TIMEOUT_SECONDS) as response:
                    check_answer(place, response)
                    return response.content
            except requests.RequestException as error:
                raise files.DataError(f"{place}: cannot be asked, got {error}; expected an answer") from None
            except NotThere as error:
                reason = error
        raise reason

    def mirrored(self, address: str) -> str | None:
        """The mirror's path or address of a file; None without a mirror, or if a query or `..` is in its name."""
        parts = urlsplit(address)
        if not self.mirror or parts.query or ".." in parts.path.split("/"):
            return None
        return f"{self.mirror.rstrip('/')}/{parts.netloc}{parts.path}"


def is_address(place: str) -> bool:
    """Whether `place` is an HTTP address rather than a path."""
    return place.startswith(("http://", "https://"))


def check_sha256(path: Path, name: str, sha256: str | None) -> None:
    """Check that a file has a SHA-256, if one is given.

    Raises: DataError with both checksums.
    """
    if sha256 is not None and (got := files.sha256(path)) != sha256:
        raise files.DataError(f"{name}: the checksum differs, got sha256 {got}; expected {sha256}")


def session(attempts: int | None = None) -> requests.Session:
    """Connections that try again, as often as `RETRY` says or fewer times."""
    retry = RETRY if attempts is None else RETRY.new(total=attempts)
    new = requests.Session()
    for scheme in ("http://", "https://"):
        new.mount(scheme, HTTPAdapter(max_retries=retry))
    return new


def download(address: str, partial: Path) -> None:
    """Fill `partial` over HTTP, continuing after an earlier download and after each lost connection.

    Raises: NotThere, or DataError if no server answers, it has no such file, or the file stays incomplete.
    """
    failures, best = 0, 0
    with session() as fetching:
        while failures < ATTEMPTS:
            try:
                return receive(fetching, address, partial)
            except HTTPError:  # the connection broke
                size = partial.stat().st_size if partial.exists() else 0
                failures, best = (0, size) if size > best else (failures + 1, best)
                time.sleep(RETRY.backoff_factor * 2**failures)
            except (requests.RequestException, ValueError) as error:  # ValueError: of an address that it redirects to
                if isinstance(error, files.DataError):
                    raise
                raise files.DataError(f"{address}: cannot be fetched, got {error}; expected a file") from None
    raise files.DataError(f"{address}: the download is truncated, got {best:,} bytes; expected a whole file")


def receive(session: requests.Session, address: str, partial: Path) -> None:
    """One request: append what `partial` lacks, or start again if it belongs to another version of the file.

    The validator of the answer that began `partial`, a strong ETag or a date, lies beside it.
    Source: RFC 9110, sections 13.1.5 (If-Range) and 14.4 (Content-Range).
    """
    tag = partial.with_name(f"{partial.name}.etag")
    headers, start = {"Accept-Encoding": "identity"}, 0
    if partial.exists() and tag.exists():
        start = partial.stat().st_size
        headers |= {"Range": f"bytes={start}-", "If-Range": tag.read_text()}
    with session.get(address, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        etag, status = response.headers.get("ETag", ""), response.status_code
        validator = etag if etag.startswith('"') else response.headers.get("Last-Modified", "")  # no weak ETag
        begun_by = headers.get("If-Range", "")
        is_same = validator == begun_by or not (validator or begun_by.startswith('"'))  # a date need not be repeated
        is_rest = is_same and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        if start and status in (206, 416) and not (status == 206 and is_rest):
            tag.unlink()  # `partial` is complete, longer than the file, or of another one
            return receive(session, address, partial)
        check_answer(address, response)
        if status == 206 and not start:
            raise files.DataError(f"{address}: the server sent a part that nobody asked for; expected a file")
        if status != 206:
            partial.write_bytes(b"")
            tag.unlink(missing_ok=True)
            if validator:
                tag.write_text(validator)
        append(address, response, partial)
    tag.unlink(missing_ok=True)
    return None


def check_answer(address: str, response: requests.Response) -> None:
    """Check that a server sends a file.

    Raises: NotThere for no such file or a web page (such as a login), or DataError for another status.
    """
    status, kind = response.status_code, response.headers.get("Content-Type", "").partition(";")[0]
    is_page = response.ok and kind == "text/html" and not urlsplit(address).path.endswith((".html", ".htm"))
    if status not in (200, 206) or is_page:
        got = "sent a web page" if is_page else f"answered {status} {response.reason}"
        is_there = status not in (401, 403, 404, 410) and not is_page
        raise (files.DataError if is_there else NotThere)(f"{address}: the server {got}; expected a file")


def append(address: str, response: requests.Response, partial: Path) -> None:
    """Append an answer's bytes as they are sent, never decoded: the checksum is that of the published file."""
    length = response.headers.get("Content-Length", "")
    total = math.ceil(int(length) / BLOCK_BYTES) if length.isdecimal() else None
    blocks = response.raw.stream(BLOCK_BYTES, decode_content=False)
    with partial.open("ab") as file:
        for block in progress.track(blocks, f"fetch {urlsplit(address).path}", total=total, unit="MiB"):
            file.write(block)
