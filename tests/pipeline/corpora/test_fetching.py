"""Downloads: fetched once, resumed, verified, from a mirror first."""

import hashlib

import pytest

from pipeline.common.files import DataError
from pipeline.corpora import fetching
from pipeline.corpora.fetching import Downloads

BODY = b"".join(b"Satz %d.\n" % number for number in range(1000))
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def address(server):
    server.files["/a/x.de"] = BODY
    return f"{server.address}/a/x.de"


@pytest.fixture
def downloads(tmp_path):
    return Downloads(tmp_path / "downloads")


def test_a_file_is_fetched_once(server, downloads, address):
    assert [downloads.fetch(address, SHA256).read_bytes() for _ in range(2)] == [BODY, BODY]
    assert downloads.fetch(address).name.endswith("-x.de")
    assert len(server.asked) == 1


def test_a_download_that_breaks_off_goes_on(server, downloads, address):
    server.faults = ["cut", "cut", 503]
    assert downloads.fetch(address).read_bytes() == BODY
    half = len(BODY) // 2
    ranges = [None, f"bytes={half}-", *[f"bytes={half + (len(BODY) - half) // 2}-"] * 2]
    assert [asked for _, asked in server.asked] == ranges
    assert {path.suffix for path in downloads.folder.iterdir()} == {".de", ".lock"}


def begin(downloads, address, content, tag):
    """Leave what a killed download of these bytes, of a file with this tag, leaves."""
    downloads.folder.mkdir(exist_ok=True)
    partial = downloads.path(address).with_name(f"{downloads.path(address).name}.partial")
    partial.write_bytes(content)
    partial.with_name(f"{partial.name}.etag").write_text(tag)


def test_a_killed_download_goes_on_unless_the_file_has_changed(server, downloads, address):
    for tag in ('"one"', '"another"'):
        begin(downloads, address, BODY[:100], tag)
        assert downloads.fetch(address).read_bytes() == BODY
        downloads.path(address).unlink()
    assert [asked for _, asked in server.asked] == ["bytes=100-"] * 2


@pytest.mark.parametrize(
    "headers", [{"ETag": '"one"', "Content-Range": "bytes 0-9/10"}, {"ETag": '"two"'}, {}, {"Last-Modified": "today"}]
)
def test_a_rest_of_another_range_or_version_is_not_appended(server, downloads, address, headers):
    begin(downloads, address, b"x" * 100, '"one"')
    server.headers, server.faults = headers, ["rest"]
    assert downloads.fetch(address).read_bytes() == BODY
    assert [asked for _, asked in server.asked] == ["bytes=100-", None]


def test_a_complete_download_that_was_not_renamed_is_fetched_again(server, downloads, address):
    begin(downloads, address, BODY, '"one"')
    assert downloads.fetch(address).read_bytes() == BODY


def test_without_a_strong_tag_a_broken_download_begins_again(server, downloads, address):
    server.headers, server.faults = {"ETag": 'W/"one"'}, ["cut"]
    assert downloads.fetch(address).read_bytes() == BODY
    assert [asked for _, asked in server.asked] == [None, None]


def test_bytes_are_kept_as_they_are_sent(server, downloads, address):
    """Some servers say of a .gz file that they packed it."""
    server.headers["Content-Encoding"] = "gzip"
    assert downloads.fetch(address).read_bytes() == BODY


def test_another_checksum_is_refused_and_the_file_fetched_again(server, downloads, address):
    server.files["/a/x.de"] = b"no corpus"
    with pytest.raises(DataError, match=rf"x\.de: the checksum differs, got sha256 \w+; expected {SHA256}$"):
        downloads.fetch(address, SHA256)
    server.files["/a/x.de"] = BODY
    assert downloads.fetch(address, SHA256).read_bytes() == BODY


def test_a_server_that_fails_each_time(server, downloads, address, monkeypatch):
    server.faults = [503] * 3
    with pytest.raises(DataError, match="the server answered 503 Service Unavailable; expected a file"):
        downloads.fetch(address)
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    server.headers, server.faults = {}, ["cut"] * 3
    with pytest.raises(DataError, match=rf"is truncated, got {len(BODY) // 2:,} bytes; expected a whole file"):
        downloads.fetch(address)
    with pytest.raises(DataError, match=r"^http://127\.0\.0\.1:1/x: cannot be fetched, got .*; expected a file$"):
        downloads.fetch("http://127.0.0.1:1/x")


@pytest.mark.parametrize(
    ("fault", "headers", "message"),
    [
        (404, {}, "the server answered 404 Not Found"),
        (416, {}, "the server answered 416 Requested Range Not Satisfiable"),
        ("fine", {"Content-Type": "text/html; charset=utf-8"}, "the server sent a web page"),
        (302, {"Location": "http://[bad"}, "cannot be fetched, got .*"),
        (302, {"Location": "file:///etc/passwd"}, "cannot be fetched, got No connection adapters .*"),
        ("fine", {"Content-Length": "5, 6"}, "cannot be fetched, got Content-Length contained .*"),
    ],
)
def test_an_answer_without_a_file_is_one_line(server, downloads, address, monkeypatch, fault, headers, message):
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.headers, server.faults = headers, [fault] * 9
    with pytest.raises(DataError, match=rf"^{address}: {message}; expected a file$"):
        downloads.fetch(address)


def test_a_mirrors_folder_is_asked_first(server, tmp_path, address):
    mirrored = tmp_path / "mirror" / server.address.removeprefix("http://") / "a/x.de"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(BODY)
    downloads = Downloads(tmp_path / "downloads", str(tmp_path / "mirror"))
    assert downloads.fetch(address, SHA256) == mirrored
    assert server.asked == []
    mirrored.write_bytes(b"no corpus")
    with pytest.raises(DataError, match=r"x\.de \(from the mirror, .*\): the checksum differs"):
        downloads.fetch(address, SHA256)
    server.files["/a/y"] = b"y"
    assert downloads.fetch(f"{server.address}/a/y").read_bytes() == b"y"  # which the mirror has not


def test_a_mirrors_address_is_asked_first(server, tmp_path):
    server.files = {"/m/a.org/x": b"mirrored", "/y": b"published"}
    downloads = Downloads(tmp_path, f"{server.address}/m/")
    assert downloads.fetch("https://a.org/x").read_bytes() == b"mirrored"
    assert downloads.fetch(f"{server.address}/y").read_bytes() == b"published"
    assert [path for path, _ in server.asked] == ["/m/a.org/x", f"/m/{server.address[7:]}/y", "/y"]


@pytest.mark.parametrize("address", ["https://a.org/../../etc/passwd", "https://a.org/get?file=a"])
def test_a_name_that_leaves_the_mirror_or_is_none_there(tmp_path, address):
    assert Downloads(tmp_path, str(tmp_path)).mirrored(address) is None
