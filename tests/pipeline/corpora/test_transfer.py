"""One request at a time: what an answer leaves of a file, and what it says where there is none."""

import errno
import gzip
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import requests

from pipeline.corpora import transfer
from pipeline.files import DataError
from tests.server import Server, serving

BODY = bytes(range(256)) * 400
NOON = "Mon, 01 Jan 2024 12:00:00 GMT"
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


@pytest.mark.parametrize("validator", [{}, {"ETag": 'W/"one"'}])
def test_what_may_be_another_file_is_fetched_whole(server: Server, partial: Path, validator: dict[str, str]) -> None:
    """A change of the same length between cut and resume cannot be seen without a strong validator."""
    server.validator = validator
    receive_half(server, partial)
    server.files["/a/corpus.txt"] = BODY[::-1]
    receive(server, partial)
    assert partial.read_bytes() == BODY[::-1]
    assert server.asked == [("/a/corpus.txt", None)] * 2


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
        ({"ETag": 'W/"one"', "Last-Modified": "Mon"}, None),
        ({"ETag": 'W/"one"', "Last-Modified": NOON, "Date": NOON.replace("12:00:00", "12:02:00")}, NOON),
        ({"Last-Modified": NOON, "Date": NOON}, None),
        ({"Last-Modified": NOON}, None),
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


def answering(server: Server, status: int, headers: dict[str, str], body: bytes = BODY) -> None:
    """Have the server answer so, whatever it is asked."""

    def answer(request: BaseHTTPRequestHandler, _: bytes) -> None:
        request.send_response(status, headers.get("reason"))
        for name, value in headers.items():
            if name != "reason":
                request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    server.answers["/a/corpus.txt"] = answer


@pytest.mark.parametrize("headers", [{"Content-Range": "bytes 0-102399/102400"}, {}, {"Content-Range": "bytes */9"}])
def test_a_part_that_nobody_asked_for(server: Server, partial: Path, headers: dict[str, str]) -> None:
    answering(server, 206, headers)
    with pytest.raises(transfer.Interrupted, match=r"^the server sent a part where the whole file was asked for$"):
        receive(server, partial)
    assert not partial.exists()


@pytest.mark.parametrize("headers", [{}, {"ETag": '"one"'}, {"Content-Range": "bytes 51200-102399/102400"}])
def test_a_part_that_does_not_say_of_what(server: Server, partial: Path, headers: dict[str, str]) -> None:
    receive_half(server, partial)
    answering(server, 206, headers)
    with pytest.raises(transfer.Interrupted, match=CHANGED):
        receive(server, partial)
    assert not partial.exists()


@pytest.mark.parametrize("packing", ["gzip", "br", "gzip, gzip", "\x9b1m"])
def test_what_the_server_packs_is_refused(server: Server, partial: Path, packing: str) -> None:
    answering(server, 200, {"Content-Encoding": packing})
    with pytest.raises(transfer.Interrupted) as error:
        receive(server, partial)
    shown = packing.replace("\x9b", "\\x9b")
    assert str(error.value) == f"the server packed what it sent, got Content-Encoding {shown}"
    assert not partial.exists()


def test_a_web_page_is_no_corpus(server: Server, partial: Path) -> None:
    answering(server, 200, {"Content-Type": "text/HTML; charset=utf-8"})
    with pytest.raises(transfer.NotThere) as error:
        receive(server, partial)
    address = f"{server.address}/a/corpus.txt"
    assert str(error.value) == f"{address}: the server sent a web page (text/html); expected a file at this address"
    transfer.receive(address, partial, 20.0, verified=True)  # the checksum will tell
    assert partial.read_bytes() == BODY


@pytest.mark.parametrize(
    ("begins", "page"),
    [
        (b"<!DOCTYPE html><p>", True),
        (b"\xef\xbb\xbf \r\n<HTML lang=en>", True),
        (b"<?xml version='1.0'?>\n<!-- x\n--><html>", True),
        (b"<head><title>", True),
        (b"<!---->" * 584 + b"<html>", True),
        (b"<!---->" * 585 + b"x", False),  # in a moment
        (b"<!-- a --> b -->\n<html>", False),
        (b"<url>http://x</url>\n", False),
        (b"<html5> is a standard.\n", False),
        (b"<htmlparser>\n", False),
        (b"Read <html> again.\n", False),
        (b"", False),
    ],
)
def test_a_web_page_by_its_first_bytes(partial: Path, begins: bytes, page: bool) -> None:
    partial.write_bytes(begins)
    assert transfer.is_page(partial) is page


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("ftp://a.org/x", "ftp://a.org/x"),
        ("http://[::bad/x", "http://[::bad/x"),
        ("https:///x", "https:///x"),
        ("http://a.org:99999/x", "http://a.org:99999/x"),
        ("javascript:\x1b[31m", "javascript:\\x1b[31m"),
    ],
)
def test_a_redirection_to_nowhere_is_refused(server: Server, partial: Path, location: str, shown: str) -> None:
    answering(server, 302, {"Location": location})
    with pytest.raises(DataError) as error:
        receive(server, partial)
    address = f"{server.address}/a/corpus.txt"
    assert str(error.value) == f"{address}: redirected to {shown}; expected an http or https address"
    assert len(server.asked) == 1


def test_redirections_are_followed_and_their_bodies_not_read(server: Server, partial: Path) -> None:
    server.files["/b"] = BODY
    answering(server, 301, {"Location": "/b", "Content-Length": "1000000000", "Content-Encoding": "gzip"}, b"no gzip")
    receive(server, partial)
    assert partial.read_bytes() == BODY
    assert [path for path, _ in server.asked] == ["/a/corpus.txt", "/b"]


def test_redirections_in_a_circle(server: Server, partial: Path) -> None:
    answering(server, 307, {"Location": "/a/corpus.txt"})
    with pytest.raises(
        DataError, match=r"/corpus.txt: redirected more than 10 times; expected a file at this address$"
    ):
        receive(server, partial)
    assert len(server.asked) == 11


def test_a_redirection_from_https_to_http_wants_a_checksum() -> None:
    """`moved` alone: the server of these tests has no certificate."""
    place, target = "https://a.org/x", "http://b.org/y"
    assert transfer.moved(place, place, target, verified=True) == target
    assert transfer.moved(place, "http://a.org/x", target, verified=False) == target
    assert transfer.moved(place, place, "//b.org/y", verified=False) == "https://b.org/y"
    with pytest.raises(DataError) as error:
        transfer.moved(place, place, target, verified=False)
    assert str(error.value) == (
        f"{place}: redirected from https to {target}, where anyone on the way may change it; "
        "expected https, or a sha256 in corpora/<corpus>.yaml"
    )


def test_escape_codes_in_a_reason_are_shown(server: Server, partial: Path) -> None:
    answering(server, 404, {"reason": "No\x1b[2J\x07"}, b"")
    with pytest.raises(transfer.NotThere, match=r"answered 404 No\\x1b\[2J\\x07; expected a file at this address$"):
        receive(server, partial)


@pytest.mark.parametrize("length", ["-5", "x", "", "9" * 5000, "3, 3"])
def test_a_length_that_is_none_is_no_length(server: Server, partial: Path, length: str) -> None:
    answering(server, 200, {"Content-Length": length}, b"abc")
    receive(server, partial)
    assert partial.read_bytes() == b"abc"


def test_too_large_a_file_is_refused(server: Server, partial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(server, 200, {"Content-Length": "99999999999999"})
    with pytest.raises(DataError, match=r"announces 99,999,999,999,999 bytes; expected at most 68,719,476,736$"):
        receive(server, partial)
    answering(server, 200, {})
    monkeypatch.setattr(transfer, "FILE_BYTES", 1000)
    with pytest.raises(DataError, match=r"corpus.txt: sends more than 1,000 bytes; expected at most that$"):
        receive(server, partial)
    assert list(partial.parent.iterdir()) == []


@pytest.mark.parametrize("resumable", [True, False])
def test_a_full_disk_keeps_what_can_be_gone_on_with(
    server: Server, partial: Path, monkeypatch: pytest.MonkeyPatch, resumable: bool
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if not resumable:
        server.validator = {}
    monkeypatch.setattr(transfer, "flush", full)
    with pytest.raises(OSError, match="No space left on device") as error:
        receive(server, partial)
    assert error.value.filename == str(partial)
    assert partial.exists() == transfer.state_path(partial).exists() == resumable


def test_a_trickle_is_too_slow(server: Server, partial: Path) -> None:
    def trickle(request: BaseHTTPRequestHandler, _: bytes) -> None:
        request.send_response(200)
        request.end_headers()
        while not server.over.wait(0.05):
            request.wfile.write(b"x")

    server.answers["/a/corpus.txt"] = trickle
    with pytest.raises(transfer.Interrupted, match=r"^too slow, got [0-9]+ bytes in [0-9]+ s$"):
        receive(server, partial, timeout_seconds=0.5)


@pytest.mark.parametrize("left", ['{"address": 1}', '{"address": "a", "validator": null, "total": "9"}'])
def test_a_broken_record_of_a_part_is_none(partial: Path, left: str) -> None:
    transfer.state_path(partial).write_text(left)
    assert transfer.state(partial) == {}
