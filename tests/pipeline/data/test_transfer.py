"""One request at a time: what an answer leaves of a file, and what it says where there is none."""

import gzip
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from pipeline.data import transfer
from pipeline.files import DataError
from tests.server import Server, serving

BODY = bytes(range(256)) * 400
CHANGED = r"^the file changed while it was fetched$"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.files["/a/corpus.txt"] = BODY
        yield running


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    return tmp_path / "corpus.txt.partial"


def receive(server: Server, partial: Path, name: str = "corpus.txt", timeout_seconds: float = 20.0) -> None:
    transfer.receive(f"{server.address}/a/{name}", partial, timeout_seconds)


def receive_half(server: Server, partial: Path) -> None:
    server.faults = ["cut"]
    with pytest.raises(transfer.Interrupted, match=r"^the download is truncated, got 51,200 of 102,400 bytes$"):
        receive(server, partial)
    assert partial.read_bytes() == BODY[:51200]


def test_what_is_missing_is_asked_for_and_appended(server: Server, partial: Path) -> None:
    receive_half(server, partial)
    address = f"{server.address}/a/corpus.txt"
    assert transfer.state(partial) == {"address": address, "validator": '"one"', "total": len(BODY)}
    assert not transfer.complete(address, partial)
    receive(server, partial)
    assert partial.read_bytes() == BODY
    assert server.asked == [("/a/corpus.txt", None), ("/a/corpus.txt", "bytes=51200-")]
    assert transfer.complete(address, partial)
    assert not transfer.complete(f"{address}.gz", partial)


def test_nothing_is_left_of_what_is_discarded(server: Server, partial: Path) -> None:
    receive_half(server, partial)
    transfer.discard(partial)
    assert list(partial.parent.iterdir()) == []
    assert (transfer.size_of(partial), transfer.state(partial)) == (0, {})


@pytest.mark.parametrize("validator", [{"ETag": '"two"'}, {"Last-Modified": "Tue, 02 Jan 2024 00:00:00 GMT"}])
def test_parts_of_two_files_are_never_glued(server: Server, partial: Path, validator: dict[str, str]) -> None:
    if "ETag" not in validator:
        server.validator = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    receive_half(server, partial)
    server.validator, server.files["/a/corpus.txt"] = validator, b"new" * 30_000
    receive(server, partial)
    assert partial.read_bytes() == b"new" * 30_000


def test_without_a_validator_another_size_tells_files_apart(server: Server, partial: Path) -> None:
    server.validator = {}
    receive_half(server, partial)
    server.files["/a/corpus.txt"] = b"new" * 30_000
    with pytest.raises(transfer.Interrupted, match=CHANGED):
        receive(server, partial)
    assert not partial.exists()


def test_a_server_that_ignores_if_range_is_seen_through(server: Server, partial: Path) -> None:
    server.if_range = False
    receive_half(server, partial)
    server.validator, server.files["/a/corpus.txt"] = {"ETag": '"two"'}, BODY[::-1]
    with pytest.raises(transfer.Interrupted, match=CHANGED):
        receive(server, partial)
    assert not partial.exists()


@pytest.mark.parametrize(
    ("headers", "validator"),
    [
        ({"ETag": '"one"', "Last-Modified": "Mon"}, '"one"'),
        ({"ETag": 'W/"one"', "Last-Modified": "Mon"}, "Mon"),
        ({"ETag": 'W/"one"'}, None),
    ],
)
def test_a_weak_tag_validates_no_bytes(headers: dict[str, str], validator: str | None) -> None:
    response = requests.Response()
    response.headers.update(headers)
    assert transfer.validator_of(response) == validator


@pytest.mark.parametrize("left", ["not JSON", "[]", '{"address": "http://elsewhere/a", "total": 9}'])
def test_a_part_of_unknown_origin_is_begun_anew(server: Server, partial: Path, left: str) -> None:
    partial.write_bytes(b"no part of it")
    transfer.state_path(partial).write_text(left)
    receive(server, partial)
    assert partial.read_bytes() == BODY
    assert server.asked == [("/a/corpus.txt", None)]


def test_a_file_that_shrank_is_begun_anew(server: Server, partial: Path) -> None:
    receive_half(server, partial)
    server.files["/a/corpus.txt"] = b"small"
    with pytest.raises(transfer.Interrupted, match=r"^the server answered 416 Requested Range Not Satisfiable$"):
        receive(server, partial)
    receive(server, partial)
    assert partial.read_bytes() == b"small"


def test_a_server_without_ranges_sends_it_all_again(server: Server, partial: Path) -> None:
    server.ranges = False
    receive_half(server, partial)
    receive(server, partial)
    assert partial.read_bytes() == BODY


def test_a_rest_that_is_too_short_is_no_whole_file(server: Server, partial: Path) -> None:
    receive_half(server, partial)
    server.faults = ["short"]
    with pytest.raises(transfer.Interrupted, match=r"^the download is truncated, got 76,800 of 102,400 bytes$"):
        receive(server, partial)
    receive(server, partial)
    assert partial.read_bytes() == BODY


def test_an_answer_without_a_length_that_ends_early(server: Server, partial: Path) -> None:
    server.faults = ["chunk"]
    with pytest.raises(transfer.Interrupted, match=r"^the download is truncated$"):
        receive(server, partial)
    assert transfer.state(partial)["total"] is None


def test_bytes_are_kept_as_they_were_sent(server: Server, partial: Path) -> None:
    server.files["/a/corpus.txt.gz"] = gzip.compress(BODY)
    server.validator = {"Content-Encoding": "gzip"}
    receive(server, partial, "corpus.txt.gz")
    assert gzip.decompress(partial.read_bytes()) == BODY


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (404, "Not Found", transfer.NotThere),
        (410, "Gone", transfer.NotThere),
        (401, "Unauthorized", transfer.NotThere),
        (403, "Forbidden", transfer.NotThere),
        (400, "Bad Request", DataError),
    ],
)
def test_a_file_that_is_not_there(
    server: Server, partial: Path, status: int, reason: str, error: type[DataError]
) -> None:
    server.faults = [status]
    with pytest.raises(DataError) as raised:
        receive(server, partial)
    expected = f"{server.address}/a/corpus.txt: the server answered {status} {reason}; expected a file at this address"
    assert str(raised.value) == expected
    assert type(raised.value) is error
    assert not partial.exists()


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "Internal Server Error"),
        (503, "Service Unavailable"),
        (429, "Too Many Requests"),
        (408, "Request Timeout"),
    ],
)
def test_a_fault_that_may_pass_costs_nothing(server: Server, partial: Path, status: int, reason: str) -> None:
    receive_half(server, partial)
    server.faults = [status]
    with pytest.raises(transfer.Interrupted, match=f"^the server answered {status} {reason}$"):
        receive(server, partial)
    assert partial.read_bytes() == BODY[:51200]


def test_a_time_out(server: Server, partial: Path) -> None:
    server.faults = ["stall"]
    with pytest.raises(transfer.Interrupted, match=r"^timed out, got no byte for 0\.3 s$"):
        receive(server, partial, timeout_seconds=0.3)


def test_nobody_listens(partial: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}/a/corpus.txt"
    with pytest.raises(transfer.Interrupted, match=r"^the connection failed, got .*refused.*$"):
        transfer.receive(address, partial, 20.0)


def test_an_address_that_is_none(partial: Path) -> None:
    with pytest.raises(DataError, match=r"^http://\[/x: cannot be asked for, got .*; expected the address of a file$"):
        transfer.receive("http://[/x", partial, 20.0)
