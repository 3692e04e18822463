"""Files by address against a server that fails: fetched once, whole, verified, from the mirror first."""

import errno
import fcntl
import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pipeline.corpora import fetching, transfer
from pipeline.files import DataError
from tests.server import Server, serving

BODY = bytes(range(256)) * 400
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.files["/a/corpus.txt"] = BODY
        yield running


def store(folder: Path, mirror: str | None = None, attempts: int = 3, timeout_seconds: float = 15.0) -> fetching.Store:
    return fetching.Store(folder, mirror, timeout_seconds, attempts, pause_seconds=0.001)


def partials(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if ".partial" in path.name)


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/a/corpus.txt"
    path = store(tmp_path).fetch(address, SHA256)
    assert path.read_bytes() == BODY
    assert path.name.endswith("-corpus.txt")
    assert store(tmp_path).fetch(address, SHA256) == path
    assert store(tmp_path).fetch(address) == path
    assert len(server.asked) == 1
    assert partials(tmp_path) == []


def test_two_addresses_of_one_file_name_are_two_files(server: Server, tmp_path: Path) -> None:
    server.files["/b/corpus.txt"] = b"other"
    paths = [store(tmp_path).fetch(f"{server.address}/{folder}/corpus.txt") for folder in "ab"]
    assert [path.read_bytes() for path in paths] == [BODY, b"other"]


def test_no_name_in_an_address_leaves_the_folder(server: Server, tmp_path: Path) -> None:
    server.files["/a/..%2F..%2Fevil"] = b"x"
    folder = tmp_path / "deep/downloads"
    assert store(folder).fetch(f"{server.address}/a/..%2F..%2Fevil").parent == folder


@pytest.mark.parametrize("fault", ["cut", "stall", "chunk", 500, 503, 429, 408])
def test_a_fault_that_passes_is_got_over(server: Server, tmp_path: Path, fault: int | str) -> None:
    server.faults = [fault]
    waiting = store(tmp_path, timeout_seconds=0.5 if fault == "stall" else 15.0)
    assert waiting.fetch(f"{server.address}/a/corpus.txt", SHA256).read_bytes() == BODY
    assert len(server.asked) == 2
    assert partials(tmp_path) == []


def test_a_cut_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.faults = ["cut", "cut", "cut", "cut"]  # more than `attempts`, but each brings something new
    assert store(tmp_path, attempts=2).fetch(f"{server.address}/a/corpus.txt").read_bytes() == BODY
    assert [asked for _, asked in server.asked][:3] == [None, "bytes=51200-", "bytes=76800-"]


def test_a_killed_download_goes_on_in_the_next_process(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/a/corpus.txt"
    server.faults = ["cut", 503]
    with pytest.raises(DataError, match=r"503"):
        store(tmp_path, attempts=1).fetch(address)
    assert partials(tmp_path) != []
    assert store(tmp_path).fetch(address, SHA256).read_bytes() == BODY
    assert server.asked[-1][1] == "bytes=51200-"


def test_a_whole_file_without_its_name_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/a/corpus.txt"
    path = store(tmp_path).fetch(address)
    partial = path.rename(f"{path}.partial")
    transfer.state_path(partial).write_text(f'{{"address": "{address}", "validator": null, "total": {len(BODY)}}}')
    assert store(tmp_path).fetch(address).read_bytes() == BODY
    assert len(server.asked) == 1


def test_a_server_that_always_cuts_ends_in_one_line(server: Server, tmp_path: Path) -> None:
    server.ranges, server.faults = False, ["cut"] * 9
    with pytest.raises(DataError) as error:
        store(tmp_path).fetch(f"{server.address}/a/corpus.txt")
    assert str(error.value) == (
        f"{server.address}/a/corpus.txt: the download is truncated, got 51,200 of 102,400 bytes, tried 3 times; "
        "expected a whole file"
    )


@pytest.mark.parametrize("status", [404, 403, 400])
def test_a_file_that_is_not_there_is_asked_for_once(server: Server, tmp_path: Path, status: int) -> None:
    server.faults = [status] * 3
    with pytest.raises(DataError, match=f"the server answered {status} .*; expected a file at this address$"):
        store(tmp_path).fetch(f"{server.address}/a/corpus.txt")
    assert len(server.asked) == 1


def test_a_server_error_that_stays(server: Server, tmp_path: Path) -> None:
    server.faults = [503] * 9
    with pytest.raises(DataError) as error:
        store(tmp_path).fetch(f"{server.address}/a/corpus.txt")
    assert str(error.value) == (
        f"{server.address}/a/corpus.txt: the server answered 503 Service Unavailable, tried 3 times; "
        "expected a whole file"
    )


def test_a_wrong_checksum_is_not_kept(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/a/corpus.txt"
    with pytest.raises(DataError) as error:
        store(tmp_path).fetch(address, "0" * 64)
    assert str(error.value) == f"{address}: the checksum differs, got sha256 {SHA256}; expected {'0' * 64}"
    assert not store(tmp_path).path(address).exists()
    assert partials(tmp_path) == []


def test_a_full_disk_is_no_fault_of_the_network(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(transfer, "flush", full)
    with pytest.raises(OSError, match="No space left on device"):
        store(tmp_path).fetch(f"{server.address}/a/corpus.txt")
    assert len(server.asked) == 1
    assert not store(tmp_path).path(f"{server.address}/a/corpus.txt").exists()


def test_a_kept_file_with_another_checksum_is_fetched_again(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/a/corpus.txt"
    store(tmp_path).fetch(address).write_bytes(b"rotten")
    assert store(tmp_path).fetch(address, SHA256).read_bytes() == BODY


def test_a_folder_as_mirror_comes_first(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "example.org/a b").mkdir(parents=True)
    (mirror / "example.org/a b/corpus.txt").write_bytes(BODY)
    fetched = store(tmp_path / "downloads", str(mirror)).fetch("https://example.org/a%20b/corpus.txt", SHA256)
    assert fetched.read_bytes() == BODY


def test_an_address_as_mirror_comes_first(server: Server, tmp_path: Path) -> None:
    server.files["/mirror/example.org/corpus.txt"] = b"mirrored"
    fetched = store(tmp_path, f"{server.address}/mirror/").fetch("https://example.org/corpus.txt")
    assert fetched.read_bytes() == b"mirrored"


@pytest.mark.parametrize("http", [True, False])
def test_what_the_mirror_has_not_comes_from_the_address(server: Server, tmp_path: Path, http: bool) -> None:
    mirror = f"{server.address}/mirror" if http else str(tmp_path / "none")
    fetched = store(tmp_path, mirror).fetch(f"{server.address}/a/corpus.txt")
    assert fetched.read_bytes() == BODY


def test_what_the_mirror_has_not_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    address, mirror = f"{server.address}/a/corpus.txt", f"{server.address}/mirror"
    server.faults = [404, "cut", 503]
    with pytest.raises(DataError, match=r"503"):
        store(tmp_path, mirror, attempts=1).fetch(address)
    assert store(tmp_path, mirror).fetch(address, SHA256).read_bytes() == BODY
    assert [asked for path, asked in server.asked if path == "/a/corpus.txt"][-1] == "bytes=51200-"


def test_a_mirror_gets_no_password(tmp_path: Path) -> None:
    found = store(tmp_path, "http://mirror.example").mirrored("https://me:secret@data.example/a/b.txt")
    assert found == "http://mirror.example/data.example/a/b.txt"


@pytest.mark.parametrize("address", ["https://example.org/%2e%2e/%2e%2e/secret", "https://../secret"])
def test_no_address_leaves_the_mirror(tmp_path: Path, address: str) -> None:
    assert store(tmp_path, str(tmp_path / "mirror")).mirrored(address) is None


@pytest.mark.parametrize("http", [True, False])
def test_two_queries_of_one_path_are_two_files(server: Server, tmp_path: Path, http: bool) -> None:
    host, mirror = server.address.removeprefix("http://"), tmp_path / "mirror"
    (mirror / host).mkdir(parents=True)
    (mirror / host / "get").write_bytes(b"neither")
    server.files |= {f"/mirror/{host}/get": b"neither", "/get?f=train.de": b"eins", "/get?f=train.en": b"one"}
    mirrored = store(tmp_path / "downloads", f"{server.address}/mirror" if http else str(mirror))
    paths = [mirrored.fetch(f"{server.address}/get?f=train.{language}") for language in ("de", "en")]
    assert [path.read_bytes() for path in paths] == [b"eins", b"one"]


def test_a_file_system_without_locks_is_no_obstacle(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    assert store(tmp_path).fetch(f"{server.address}/a/corpus.txt", SHA256).read_bytes() == BODY


def test_a_wrong_checksum_names_the_mirror(tmp_path: Path) -> None:
    origin = tmp_path / "mirror/example.org/corpus.txt"
    origin.parent.mkdir(parents=True)
    origin.write_bytes(BODY)
    with pytest.raises(DataError) as error:
        store(tmp_path, str(tmp_path / "mirror")).fetch("https://example.org/corpus.txt", "0" * 64)
    assert str(error.value) == (
        f"https://example.org/corpus.txt (from the mirror, {origin}): the checksum differs, got sha256 {SHA256}; "
        f"expected {'0' * 64}"
    )


@pytest.mark.parametrize("http", [True, False])
def test_an_empty_file_is_refused(server: Server, tmp_path: Path, http: bool) -> None:
    server.files["/a/corpus.txt"] = b""
    address, mirror = f"{server.address}/a/corpus.txt", tmp_path / "mirror"
    origin = mirror / server.address.removeprefix("http://") / "a/corpus.txt"
    origin.parent.mkdir(parents=True)
    origin.touch()
    with pytest.raises(DataError) as error:
        store(tmp_path, None if http else str(mirror)).fetch(address)
    where = address if http else f"{address} (from the mirror, {origin})"
    assert str(error.value) == f"{where}: is empty, got 0 bytes; expected a file"
    server.files["/a/corpus.txt"] = BODY
    assert store(tmp_path).fetch(address).read_bytes() == BODY


def test_a_web_page_is_refused(server: Server, tmp_path: Path) -> None:
    server.files |= {"/a/corpus.txt": b"<!DOCTYPE html>\nNo.\n", "/a/x.html": b"<html>\n"}
    address = f"{server.address}/a/corpus.txt"
    with pytest.raises(DataError) as error:
        store(tmp_path).fetch(address)
    assert str(error.value) == f"{address}: holds a web page (HTML); expected a file at this address"
    assert partials(tmp_path) == []
    server.files["/a/corpus.txt"] = BODY
    assert store(tmp_path).fetch(address).read_bytes() == BODY
    assert store(tmp_path).fetch(f"{server.address}/a/x.html").read_bytes() == b"<html>\n"


def test_a_mirror_that_sends_a_web_page_has_none(server: Server, tmp_path: Path) -> None:
    host = server.address.removeprefix("http://")
    server.files[f"/mirror/{host}/a/corpus.txt"] = b"<html>not found</html>"
    fetched = store(tmp_path, f"{server.address}/mirror").fetch(f"{server.address}/a/corpus.txt")
    assert fetched.read_bytes() == BODY


def test_what_was_doubted_is_fetched_again_for_the_same_purpose(server: Server, tmp_path: Path) -> None:
    address, kept = f"{server.address}/a/corpus.txt", store(tmp_path)
    kept.fetch(address, purpose="a table")
    kept.doubt(address, "a table")
    assert kept.fetch(address, purpose="a text") == kept.path(address)
    assert kept.fetch(address, SHA256, "a table") == kept.path(address)
    assert len(server.asked) == 1
    for _ in range(2):
        kept.fetch(address, purpose="a table")
        assert len(server.asked) == 2
    kept.doubt(f"{address}.gz", "what is not there")
    assert not list(tmp_path.glob("*.doubt"))


def test_a_doubted_file_stays_until_a_new_one_is_there(server: Server, tmp_path: Path) -> None:
    address, kept = f"{server.address}/a/corpus.txt", store(tmp_path, attempts=1)
    kept.fetch(address)
    kept.doubt(address, "")
    server.faults = [503]
    with pytest.raises(DataError, match=r"503"):
        kept.fetch(address)
    assert kept.path(address).read_bytes() == BODY
    assert kept.fetch(address) == kept.path(address)
    assert len(server.asked) == 3


def test_a_server_that_gives_a_byte_at_a_time_ends_in_one_line(server: Server, tmp_path: Path) -> None:
    body = iter(range(1, 100))

    def one_more(request: BaseHTTPRequestHandler, content: bytes) -> None:
        start = next(body)
        request.send_response(206 if start > 1 else 200)
        request.send_header("ETag", '"one"')
        request.send_header("Content-Range", f"bytes {start - 1}-102399/102400")
        request.send_header("Content-Length", str(len(content) - start + 1))
        request.end_headers()
        request.wfile.write(b"x")

    server.answers["/a/corpus.txt"] = one_more
    waiting = fetching.Store(tmp_path, attempts=3, pause_seconds=0.01)
    with pytest.raises(DataError, match=r"the download is truncated, got [1-9] of 102,400 bytes, tried 3 times"):
        waiting.fetch(f"{server.address}/a/corpus.txt")


def test_a_long_name_is_cut(server: Server, tmp_path: Path) -> None:
    path = store(tmp_path).path(f"{server.address}/{chr(0x1F600) * 300}.gz")
    assert len(path.name.encode()) < 150
    assert path.name.endswith(".gz")
    assert store(tmp_path, str(tmp_path)).mirrored("https://a.org/" + "x" * 300) is not None
    server.files["/" + "x" * 300] = BODY
    assert store(tmp_path, str(tmp_path)).fetch(f"{server.address}/{'x' * 300}").read_bytes() == BODY


def test_a_mirrors_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = tmp_path / "mirror/a.org/x"
    origin.parent.mkdir(parents=True)
    origin.touch()

    def refused(self: Path, *args: object, **more: object) -> object:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refused)
        with pytest.raises(DataError) as error:
            fetching.copy("https://a.org/x", origin, tmp_path / "partial")
    assert str(error.value) == (
        f"https://a.org/x (from the mirror, {origin}): cannot be read, got Permission denied; expected a readable file"
    )
