"""One HTTP request into a partial file, which a later request continues if the server's file is still the same."""

import errno
import http.client
import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import repeat
from pathlib import Path
from typing import IO, NoReturn
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from pipeline import files, progress, terminal

BLOCK_BYTES = 1 << 20
FILE_BYTES = 64 << 30  # the largest public archives have some 30 GiB
SLOWEST = 1024  # bytes a second; a slower download is given up
REDIRECTIONS = 10
SHOWN_CHARACTERS = 200  # of a server's text in a message
MOVED = (301, 302, 303, 307, 308)
NOT_THERE = (401, 403, 404, 410)  # answers of a mirror without the file (object stores say 403)
LATER = (408, 425, 429)  # besides 5xx: worth another request
PAGES = ("text/html", "application/xhtml+xml")
PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*+-->\s*)*+<(?:!doctype\s+html|html|head)\b",
    re.I | re.S,
)
CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,30})-[0-9]{1,30}/([0-9]{1,30})")
NO_ADDRESS = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    urllib3.exceptions.LocationValueError,
    http.client.InvalidURL,
)


class NotThere(files.DataError):
    """The server has no such file."""


class Interrupted(Exception):
    """A fetch that broke off and may be resumed, as `Store.download` does."""


def size_of(path: Path) -> int:
    """Bytes in a file, 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def state_path(partial: Path) -> Path:
    """The file that says which download `partial` belongs to."""
    return partial.with_name(f"{partial.name}.json")


def state(partial: Path) -> dict[str, int | str | None]:
    """The download that `partial` belongs to: address, validator (entity tag or date) and total size, if known."""
    try:
        found = files.read_json(state_path(partial))
    except (FileNotFoundError, ValueError):
        return {}
    kinds = {"address": str, "validator": str | None, "total": int | None}
    sound = isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in kinds.items())
    return found if sound else {}


def complete(address: str, partial: Path) -> bool:
    """Whether `partial` is complete, so that only its rename is missing: the process was killed before that."""
    known = state(partial)
    return known.get("address") == address and known.get("total") == size_of(partial) > 0


def discard(partial: Path) -> None:
    """Delete a partial file and its state."""
    partial.unlink(missing_ok=True)
    state_path(partial).unlink(missing_ok=True)


def flush(file: IO[bytes]) -> None:
    """Write the bytes to disk, before the file is renamed."""
    file.flush()
    os.fsync(file.fileno())


def receive(address: str, partial: Path, timeout_seconds: float, *, verified: bool = False) -> None:
    """One request: append what `partial` lacks, or start it again if the server's file has changed.

    `verified`: a checksum will be checked, so web pages and unencrypted addresses need not be refused here.
    Source: RFC 9110, sections 13.1.5 (If-Range) and 14 (ranges).
    Raises: NotThere or DataError if another request is useless, Interrupted if it may help.
    """
    headers = {"Accept-Encoding": "identity", **resuming(address, partial)}
    try:
        with answered(address, headers, timeout_seconds, verified=verified) as response:
            start = begin(address, response, partial, verified=verified)
            save(address, response, partial, start, timeout_seconds)
    except (requests.Timeout, urllib3.exceptions.TimeoutError):
        raise Interrupted(f"timed out, got no byte for {timeout_seconds:g} s") from None
    except (*NO_ADDRESS, UnicodeError) as error:
        raise files.DataError(
            f"{address}: cannot be asked for, got {plain(error)}; expected the address of a file"
        ) from None
    except urllib3.exceptions.ProtocolError:  # only once bytes flow; before, it comes as a ConnectionError of requests
        raise Interrupted(f"the download is truncated{so_far(partial)}") from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise Interrupted(f"the connection failed, got {plain(error)}") from None


class Session(requests.Session):
    """A session that follows no redirection: requests would read its body, whatever its length and compression."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """None: `answered` follows."""
        return None


@contextmanager
def answered(
    address: str, headers: dict[str, str], timeout_seconds: float, *, verified: bool
) -> Iterator[requests.Response]:
    """The answer for `address`, or for the address that the server redirects to.

    Raises: DataError for a redirection that leads nowhere.
    """
    place = address
    with Session() as session:
        for _ in range(REDIRECTIONS + 1):
            with session.get(place, headers=headers, stream=True, timeout=timeout_seconds) as response:
                location = response.headers.get("Location")
                if response.status_code not in MOVED or location is None:
                    yield response
                    return
                place = moved(address, place, location, verified=verified)
    raise files.DataError(f"{address}: redirected more than {REDIRECTIONS} times; expected a file at this address")


def moved(address: str, place: str, location: str, *, verified: bool) -> str:
    """The address that the answer at `place`, with this Location, redirects to; `address` is the original request.

    Raises: DataError for anything but http and https, and for http after https unless a checksum will be checked.
    """
    target = location.encode("latin-1", "replace").decode("utf-8", "replace")  # header lines come as Latin-1
    try:
        target = urljoin(place, target)
        parts = urlsplit(target)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    shown = terminal.one_line(target, SHOWN_CHARACTERS)
    if not good:
        raise files.DataError(f"{address}: redirected to {shown}; expected an http or https address")
    if parts.scheme == "http" and urlsplit(place).scheme == "https" and not verified:
        raise files.DataError(
            f"{address}: redirected from https to {shown}, where anyone on the way may change it; "
            "expected https, or a sha256 in corpora/<corpus>.yaml"
        )
    return target


def resuming(address: str, partial: Path) -> dict[str, str]:
    """The headers that ask for the rest of `partial`; none unless it is known to be of this very file."""
    known = state(partial)
    validator = str(known.get("validator") or "")
    sound = validator.isascii() and validator.isprintable() and validator  # else it is no header
    if not size_of(partial) or known.get("address") != address or not sound:
        return {}
    return {"Range": f"bytes={size_of(partial)}-", "If-Range": validator}


def begin(address: str, response: requests.Response, partial: Path, *, verified: bool) -> int:
    """The byte at which this answer starts; if that is the first, `partial` is emptied.

    Raises: NotThere, DataError or Interrupted for an answer without a file.
    """
    if response.status_code not in (200, 206):
        refuse(address, response, partial)
    if fault := unusable(address, response, partial):
        discard(partial)
        raise Interrupted(fault)
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in PAGES and not verified and not is_page_name(address):
        raise NotThere(f"{address}: the server sent a web page ({kind}); expected a file at this address")
    if response.status_code == 206:
        return size_of(partial)
    total = length(response)
    if total is not None and total > FILE_BYTES:
        raise files.DataError(f"{address}: announces {total:,} bytes; expected at most {FILE_BYTES:,}")
    partial.write_bytes(b"")
    files.write_json(state_path(partial), {"address": address, "validator": validator_of(response), "total": total})
    return 0


def unusable(address: str, response: requests.Response, partial: Path) -> str | None:
    """Why the bytes of an answer cannot be part of the published file; None if they can."""
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    packed = urlsplit(address).path.lower().endswith((".gz", ".tgz"))  # some servers say gzip of a file that is one
    if packing not in ("", "identity", *(("gzip", "x-gzip") if packed else ())):
        return f"the server packed what it sent, got Content-Encoding {terminal.one_line(packing, SHOWN_CHARACTERS)}"
    if response.status_code != 206:
        return None
    if "Range" not in response.request.headers:
        return "the server sent a part where the whole file was asked for"
    known = state(partial)
    span = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    if span is None or int(span[1]) != size_of(partial) or known.get("total") not in (None, int(span[2])):
        return "the file changed while it was fetched"
    validator = str(known.get("validator"))
    got = response.headers.get("ETag" if validator.startswith('"') else "Last-Modified")
    may_miss = not validator.startswith('"')  # a 206 may leave the date out, but not the tag
    return None if got == validator or (got is None and may_miss) else "the file changed while it was fetched"


def length(response: requests.Response) -> int | None:
    """The number of bytes that the answer announces, if any."""
    announced = response.headers.get("Content-Length", "")
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()  # then the other counts for nothing
    return int(announced) if re.fullmatch("[0-9]{1,30}", announced) and not chunked else None


def validator_of(response: requests.Response) -> str | None:
    """A validator for `If-Range`: a strong entity tag, else the date of last change if it is strong.

    Source: RFC 9110, section 8.8.2.2: a date is weak if the file may have changed again in the same second.
    """
    tag = response.headers.get("ETag", "")
    if tag.startswith('"'):
        return tag
    changed, sent = (date(response.headers.get(name)) for name in ("Last-Modified", "Date"))
    strong = changed is not None and sent is not None and sent - changed >= timedelta(minutes=1)
    return response.headers.get("Last-Modified") if strong else None


def date(header: str | None) -> datetime | None:
    """The time in a header; None if there is none."""
    try:
        found = parsedate_to_datetime(header or "")
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def is_page_name(address: str) -> bool:
    """Whether the address names a web page."""
    return urlsplit(address).path.lower().endswith((".html", ".htm", ".xhtml"))


def is_page(partial: Path) -> bool:
    """Whether the file begins like a web page."""
    with partial.open("rb") as file:
        return PAGE.match(file.read(1 << 12)) is not None


def refuse(address: str, response: requests.Response, partial: Path) -> NoReturn:
    """Raise the error for an answer without a file."""
    reason = terminal.one_line(str(response.reason or ""), SHOWN_CHARACTERS)
    said = f"the server answered {response.status_code} {reason}".rstrip()
    if response.status_code in NOT_THERE:
        raise NotThere(f"{address}: {said}; expected a file at this address")
    if response.status_code == 416:  # nothing left to send, or the file shrank: what we have is no part of it
        discard(partial)
    elif response.status_code < 500 and response.status_code not in LATER:
        raise files.DataError(f"{address}: {said}; expected a file at this address")
    raise Interrupted(said)


def save(address: str, response: requests.Response, partial: Path, start: int, timeout_seconds: float) -> None:
    """Append the answer's bytes as they are sent, never decoded: the checksum is that of the published file.

    Raises: Interrupted if fewer come than the server announced, or too slowly; DataError if there are too many;
        OSError if the disk is full. A partial file that no later request can continue is deleted.
    """
    total = state(partial).get("total")
    try:
        with partial.open("ab") as out:
            blocks = write(address, response, out, timeout_seconds)
            what = f"fetch {Path(urlsplit(address).path).name}"
            blocks_in_all = math.ceil(int(total) / BLOCK_BYTES) if total else None
            for _ in progress.track(blocks, what, total=blocks_in_all, unit="MiB", start=start // BLOCK_BYTES):
                pass
            flush(out)
    except files.DataError:
        discard(partial)
        raise
    except OSError as error:
        files.name_file(error, partial)
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and not resuming(address, partial):
            discard(partial)
        raise
    if total is not None and size_of(partial) != total:
        raise Interrupted(f"the download is truncated{so_far(partial)}")


def write(address: str, response: requests.Response, out: IO[bytes], timeout_seconds: float) -> Iterator[None]:
    """Append the answer's bytes to `out` as they come; yields once a block.

    Raises: Interrupted if they come too slowly, DataError if there are too many.
    """
    size = mark = out.tell()
    since = time.monotonic()
    while block := response.raw.read1(BLOCK_BYTES, decode_content=False):
        out.write(block)
        out.flush()  # a kill loses nothing that came
        num_blocks = (size + len(block)) // BLOCK_BYTES - size // BLOCK_BYTES
        size += len(block)
        if size > FILE_BYTES:
            raise files.DataError(f"{address}: sends more than {FILE_BYTES:,} bytes; expected at most that")
        seconds = time.monotonic() - since
        if seconds > 2 * timeout_seconds:
            if size - mark < SLOWEST * seconds:
                raise Interrupted(f"too slow, got {size - mark:,} bytes in {seconds:.0f} s")
            mark, since = size, since + seconds
        yield from repeat(None, num_blocks)


def so_far(partial: Path) -> str:
    """`, got 5 of 9 bytes` for a partial file."""
    total = state(partial).get("total")
    return f", got {size_of(partial):,} of {total:,} bytes" if total else ""


def plain(error: Exception) -> str:
    """The innermost reason of a network error, in a few words of one line."""
    reason: object = error
    for _ in range(5):
        inner = getattr(reason, "reason", None) or next(iter(getattr(reason, "args", ())), None)
        if not isinstance(inner, Exception):
            break
        reason = inner
    return terminal.one_line(str(reason).split(": ", 1)[-1], SHOWN_CHARACTERS) or type(reason).__name__
