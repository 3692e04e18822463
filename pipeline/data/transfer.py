"""One HTTP answer into a partial file, which a later answer goes on with where it is still the same file."""

import math
import os
from pathlib import Path
from typing import IO, NoReturn
from urllib.parse import urlsplit

import requests
import urllib3

from pipeline import files, progress

BLOCK_BYTES = 1 << 20
NOT_THERE = (401, 403, 404, 410)  # what a mirror that has none may answer (object stores say 403)
LATER = (408, 425, 429)  # besides 5xx: ask again


class NotThere(files.DataError):
    """The server has no such file."""


class Interrupted(Exception):
    """A fetch that broke off and may go on: `Store.download` does so."""


def size_of(path: Path) -> int:
    """Bytes in a file, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def state_path(partial: Path) -> Path:
    """The file that says of what `partial` is a part."""
    return partial.with_name(f"{partial.name}.json")


def state(partial: Path) -> dict[str, int | str | None]:
    """Of what `partial` is a part: address, validator (entity tag or date) and total size, as far as known."""
    try:
        found = files.read_json(state_path(partial))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def complete(address: str, partial: Path) -> bool:
    """Whether nothing is missing but the name: the process was killed before it could give it."""
    known = state(partial)
    return known.get("address") == address and known.get("total") == size_of(partial) > 0


def discard(partial: Path) -> None:
    """Forget a part of a file."""
    partial.unlink(missing_ok=True)
    state_path(partial).unlink(missing_ok=True)


def flush(file: IO[bytes]) -> None:
    """See that the bytes are on the disk before the file takes its name."""
    file.flush()
    os.fsync(file.fileno())


def receive(address: str, partial: Path, timeout_seconds: float) -> None:
    """One request: append what is missing of `partial`, or begin it anew where the server's file is another by now.

    Source: RFC 9110, sections 13.1.5 (If-Range) and 14 (ranges).
    Raises: NotThere or DataError where asking again is useless, Interrupted where it is not.
    """
    headers = {"Accept-Encoding": "identity", **resuming(address, partial)}
    try:
        with requests.get(address, headers=headers, stream=True, timeout=timeout_seconds) as response:
            start = begin(address, response, partial)
            save(response, partial, start)
    except (requests.Timeout, urllib3.exceptions.TimeoutError):
        raise Interrupted(f"timed out, got no byte for {timeout_seconds:g} s") from None
    except (requests.exceptions.InvalidURL, requests.exceptions.TooManyRedirects) as error:
        raise files.DataError(
            f"{address}: cannot be asked for, got {plain(error)}; expected the address of a file"
        ) from None
    except urllib3.exceptions.ProtocolError:  # only once bytes flow; before, it comes as a ConnectionError of requests
        raise Interrupted(f"the download is truncated{so_far(partial)}") from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise Interrupted(f"the connection failed, got {plain(error)}") from None


def resuming(address: str, partial: Path) -> dict[str, str]:
    """The headers that ask for the rest of `partial`; none where nothing of this very file is there."""
    known = state(partial)
    if not size_of(partial) or known.get("address") != address:
        return {}
    headers = {"Range": f"bytes={size_of(partial)}-"}
    if known.get("validator"):
        headers["If-Range"] = str(known["validator"])
    return headers


def begin(address: str, response: requests.Response, partial: Path) -> int:
    """At which byte this answer goes on; `partial` is emptied where that is the first one.

    Raises: NotThere, DataError or Interrupted for an answer without a file.
    """
    if response.status_code not in (200, 206):
        refuse(address, response, partial)
    length = response.headers.get("Content-Length")
    known, size = state(partial), size_of(partial)
    validator = validator_of(response)
    if response.status_code == 206:
        span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        same = validator is None or known.get("validator") in (None, validator)  # a 206 may leave the date out
        same &= str(known.get("total") or total) == total
        if not same or span.partition("-")[0] != str(size):
            discard(partial)
            raise Interrupted("the file changed while it was fetched")
        return size
    partial.write_bytes(b"")
    total_bytes = int(length) if length and length.isdecimal() else None
    files.write_json(state_path(partial), {"address": address, "validator": validator, "total": total_bytes})
    return 0


def validator_of(response: requests.Response) -> str | None:
    """The entity tag where it is a strong one, else the date of last change: what `If-Range` may carry."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def refuse(address: str, response: requests.Response, partial: Path) -> NoReturn:
    """Say what an answer without a file means.

    Raises: always.
    """
    said = f"the server answered {response.status_code} {response.reason or ''}".rstrip()
    if response.status_code in NOT_THERE:
        raise NotThere(f"{address}: {said}; expected a file at this address")
    if response.status_code == 416:  # nothing left to send, or the file shrank: what we have is no part of it
        discard(partial)
    elif response.status_code < 500 and response.status_code not in LATER:
        raise files.DataError(f"{address}: {said}; expected a file at this address")
    raise Interrupted(said)


def save(response: requests.Response, partial: Path, start: int) -> None:
    """Append the answer's bytes as they are sent (never decoded: the published file is what has a checksum).

    Raises: Interrupted where fewer came than the server announced.
    """
    total = state(partial).get("total")
    blocks = response.raw.stream(BLOCK_BYTES, decode_content=False)
    shown = progress.track(
        blocks,
        f"fetch {Path(urlsplit(str(response.url)).path).name}",
        total=math.ceil(int(total) / BLOCK_BYTES) if total else None,
        unit="MiB",
        start=start // BLOCK_BYTES,
    )
    with partial.open("ab") as out:
        for block in shown:
            out.write(block)
            out.flush()  # a kill loses one block at most
        flush(out)
    if total is not None and size_of(partial) != total:
        raise Interrupted(f"the download is truncated{so_far(partial)}")


def so_far(partial: Path) -> str:
    """`, got 5 of 9 bytes` for a file begun."""
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
    return " ".join(str(reason).split(": ", 1)[-1].split()) or type(reason).__name__
