"""A hostile server, broken archives, files without an end: the right bytes or one clear line, and nothing is kept.

Every fault goes through the command of the stage `download` (see tests/downloads.py). A fault that ends a run must be
over with it: the same command succeeds, with the right bytes, as soon as the server is right.
"""

import bz2
import gzip
import io
import json
import os
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pipeline import files
from pipeline.corpora import archives, readers
from tests.downloads import Done, Downloads, downloading
from tests.server import Server, serving

GERMAN = b"".join(b"Satz %d.\n" % number for number in range(3000))
ENGLISH = b"".join(b"Sentence %d.\n" % number for number in range(3000))
PARTS = {
    "plain": 'source: {{address: "{0}/x.de"}}, target: {{address: "{0}/x.en"}}',
    "gz": 'source: {{address: "{0}/x.de.gz"}}, target: {{address: "{0}/x.en"}}',
    "zip": 'source: {{address: "{0}/x.zip", member: a/x.de}}, target: {{address: "{0}/x.en"}}',
    "tgz": 'source: {{address: "{0}/x.tgz", member: a/x.de}}, target: {{address: "{0}/x.en"}}',
    "table": 'table: {{address: "{0}/x.tsv"}}, source_column: 1, target_column: 2',
}
PATHS = {"plain": "/x.de", "gz": "/x.de.gz", "zip": "/x.zip", "tgz": "/x.tgz", "table": "/x.tsv"}
PAGE = b"<!DOCTYPE html>\n<html><body>Sign in \x1b[2J</body></html>\n"
MEMORY = 100  # MiB above a good run's peak

Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, "/etc/hostname"
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


RIGHT = {
    "/x.de": GERMAN,
    "/x.en": ENGLISH,
    "/x.de.gz": gzip.compress(GERMAN),
    "/x.zip": zipped({"a/x.de": GERMAN, "a/y": b"more"}),
    "/x.tgz": tarred({"a/x.de": GERMAN, "a/y": b"more"}),
    "/x.tsv": b"".join(b"%s\t%s\n" % pair for pair in zip(GERMAN.splitlines(), ENGLISH.splitlines(), strict=True)),
}


@pytest.fixture(scope="module")
def downloads(project_root: Path) -> Iterator[Downloads]:
    with downloading(project_root) as running:
        yield running


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.files = dict(RIGHT)
        yield running


class Project:
    """A folder with a corpus of one part, whose downloads are judged."""

    def __init__(self, folder: Path, kind: str, server: Server, downloads: Downloads) -> None:
        folder.mkdir()
        self.folder, self.downloads, self.address = folder, downloads, f"{server.address}{PATHS[kind]}"
        part = PARTS[kind].format(server.address)
        (folder / "corpora").mkdir()
        corpus = f"{{source_language: de, target_language: en, parts: {{train: {{kind: files, {part}}}}}}}\n"
        (folder / "corpora/toy.yaml").write_text(corpus)

    def run(self) -> Done:
        """One run: right bytes, or one clean line that names the file, and never anything outside of two folders."""
        done = self.downloads.run(self.folder)
        if done.status == 0:
            self.check_right(done)
        else:
            assert done.status == 1, done
            assert done.said.startswith("error: "), done
            assert done.said.count("\n") == 1, done
            assert done.said.removesuffix("\n").isprintable(), done
            assert len(done.said) < 800, done
            assert self.address in done.said, done
            assert not (self.folder / "data/download/toy").exists(), done
        assert set(os.listdir(self.folder)) <= {"corpora", "said.txt", "work", "data"}
        return done

    def check_right(self, done: Done) -> None:
        """The right bytes, and a store without leftovers."""
        assert done.status == 0, done
        assert (self.folder / "data/download/toy/train.source.txt").read_bytes() == GERMAN, done
        assert (self.folder / "data/download/toy/train.target.txt").read_bytes() == ENGLISH, done
        left = [
            path.name for path in (self.folder / "work").rglob("*") if path.suffix in (".partial", ".json", ".doubt")
        ]
        assert left == [], done


def answer(status: int = 200, body: bytes | None = None, reason: str | None = None, **headers: str) -> Answer:
    """An answer of this status with these headers, and the right body or another; without a length but where given."""

    def send(request: BaseHTTPRequestHandler, right: bytes) -> None:
        request.send_response(status, reason)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(right if body is None else body)

    return send


def raw(content: bytes) -> Answer:
    """These bytes, HTTP or not."""
    return lambda request, _: void(request.wfile.write(content))


def void(_: object) -> None:
    """Nothing."""


def forever(headers: bytes, block: bytes, seconds: float = 0.0) -> Answer:
    """An answer that never ends."""

    def send(request: BaseHTTPRequestHandler, _: bytes) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\n" + headers)
        over = request.server.over  # type: ignore[attr-defined]
        while not over.wait(seconds):
            request.wfile.write(block)

    return send


def half(body: Callable[[bytes], bytes]) -> Answer:
    """A whole announced and a part of it sent."""

    def send(request: BaseHTTPRequestHandler, right: bytes) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(right)))
        request.end_headers()
        request.wfile.write(body(right))

    return send


def redirected(location: str, **more: str) -> Answer:
    return answer(302, b"x" * 100, Location=location, **more)


ANSWERS: dict[str, Answer] = {
    **{f"status {status}": answer(status, b"no") for status in (204, 304, 400, 403, 404, 416, 429, 500, 599)},
    "empty": answer(body=b""),
    "empty, announced": answer(body=b"", Content_Length="0"),
    "empty, in chunks": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a page": answer(body=PAGE, Content_Type="text/html"),
    "a page as XHTML": answer(body=b"<p/>", Content_Type="application/xhtml+xml;q=1"),
    "a page as bytes": answer(body=PAGE, Content_Type="application/octet-stream"),
    "a page in capitals": answer(body=b"\xef\xbb\xbf\r\n <HTML>\n"),
    "a page's type alone": answer(Content_Type="text/html"),
    "cut": half(lambda right: right[: len(right) // 2]),
    "cut at once": half(lambda _: b""),
    "one byte": half(lambda right: right[:1]),
    "closed": lambda request, _: request.connection.close(),
    "unasked 206": answer(206, Content_Range="bytes 0-9/10"),
    "unasked 206 of nothing": answer(206),
    "unasked 206, its middle": answer(206, b"Satz 7.\n", Content_Range="bytes 63-70/30000"),
    "206 of several parts": answer(206, Content_Type="multipart/byteranges; boundary=x"),
    **{f"packed as {name}": answer(Content_Encoding=name) for name in ("br", "gzip, gzip", "\x9b2J", "x" * 999)},
    "packed twice": lambda request, right: answer(body=gzip.compress(right), Content_Encoding="br")(request, right),
    "a bomb as packing": answer(body=gzip.compress(bytes(100 << 20)), Content_Encoding="deflate"),
    **{f"length {name[:9]}": answer(Content_Length=name) for name in ("1, 2", "99999999999999999999", "9999999999999")},
    "chunk that is none": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nSatz\r\n0\r\n\r\n"),
    "chunk of less than nothing": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nSatz\r\n0\r\n\r\n"),
    "chunk of too much": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\nSatz\r\n"),
    "no HTTP": raw(b"\x1b[2J220 ftp.example.org ready\r\n"),
    "no status": raw(b"HTTP/1.1 abc def\r\n\r\n"),
    "a status of a million": raw(b"HTTP/1.1 1000000 x\r\n\r\n"),
    "escape codes as reason": raw(b"HTTP/1.1 404 \x1b[2J\x9b31m\x07No\r\n\r\n"),
    "a long reason": raw(b"HTTP/1.1 404 " + b"no " * 9000 + b"\r\n\r\n"),
    "a long header": raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n"),
    "many headers": raw(b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 200 + b"\r\n"),
    "a header that is none": raw(b"HTTP/1.1 200 OK\r\n\x1b[2J\r\n\r\n"),
    "a silent server": forever(b"", b"", 0.1),
    "a trickle": forever(b"\r\n", b"S", 0.05),
    "a trickle in chunks": forever(b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nS\r\n", 0.05),
    **{
        f"redirected to {place[:12]}": redirected(place)
        for place in (
            "/x.de", "file:///etc/passwd", "ftp://a.org/x", "gopher://a.org/", "data:,Satz", "http://[::bad", "https:///x",
            "http://127.0.0.1:99999/", "http://127.0.0.1:0/", "http://127.0.0.1:1/", "\xff\xfe", "//", "", "/none",
            "mailto:\x1b[2J", "http://" + "a" * 300 + ".example/", "/" + "a" * 5000,
        )
    },
    "redirected nowhere": answer(302, b""),
    "redirected with a bomb": redirected("/none", Content_Encoding="gzip", Content_Length="9999999999"),
    "redirected without an end": forever(b"Location: /none\r\n\r\n", b"x" * 65536),
    "bytes of nothing": answer(body=b"\0" * 1000),
    "fewer lines": answer(body=GERMAN[: len(GERMAN) // 2]),
    "more lines": answer(body=GERMAN + b"Satz.\n"),
    "one line without an end": lambda request, right: answer(body=b"a" * (files.LINE_BYTES + 9))(request, right),
}  # fmt: skip


def late(validators: dict[str, str], changed: bytes, honest: bool = True) -> Answer:
    """Half of another file of the same length first; then, by the rules or not, what is asked for of the right one."""
    calls = iter(range(1000))

    def send(request: BaseHTTPRequestHandler, right: bytes) -> None:
        asked = request.headers.get("Range")
        if next(calls) == 0:
            request.send_response(200)
            body = changed[: len(changed) // 2]
        elif asked and not honest:
            start = int(asked[6:-1])
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(right) - 1}/{len(right)}")
            body, right = right[start:], right[start:]
        else:
            request.send_response(200)
            body = right
        for name, value in validators.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(changed) if body is not right else len(right)))
        request.end_headers()
        request.wfile.write(body)

    return send


def test_every_wrong_answer(campaign, tmp_path: Path, server: Server, downloads: Downloads) -> None:
    """Each for as long as it lasts; then the server is right, and a second run too."""
    draw = random.Random(1)
    wrong = [(name, "plain") for name in ANSWERS]
    wrong += [(name, kind) for kind in ("gz", "table", "zip", "tgz") for name in draw.sample(list(ANSWERS), 25)]
    if not campaign.full:
        quick = [one for one in wrong if "trickle" not in one[0] and "silent" not in one[0]]
        wrong = draw.sample(quick, 10)
    for number, (name, kind) in enumerate(wrong):
        server.answers.clear()
        project = Project(tmp_path / str(number), kind, server, downloads)
        with campaign.trying("a wrong answer, then the right one", f"{name}, {kind}"):
            server.answers[PATHS[kind]] = ANSWERS[name]
            done = project.run()
            assert done.peak < 400, (name, kind, done)
            server.answers.clear()
            project.check_right(project.run())


@pytest.mark.parametrize("honest", [True, False])
def test_a_change_while_it_is_fetched(
    campaign, tmp_path: Path, server: Server, downloads: Downloads, honest: bool
) -> None:
    validators = ({}, {"ETag": 'W/"1"'}, {"ETag": "1"}, {"ETag": 'W/"1"', "Last-Modified": "yesterday"})
    for number, validator in enumerate(validators):
        for kind in PARTS if campaign.full else ("plain", "tgz")[number % 2 :][:1]:
            server.answers.clear()
            with campaign.trying("a file that changes while it is fetched"):
                changed = bytes(byte ^ 1 for byte in RIGHT[PATHS[kind]])
                server.answers[PATHS[kind]] = late(validator, changed, honest)
                project = Project(tmp_path / f"{number}{kind}", kind, server, downloads)
                project.check_right(project.run())


def bombs() -> dict[str, tuple[str, bytes]]:
    """Archives and files that would fill the memory, by the kind of part that reads them."""
    line = zlib.compressobj(9, zlib.DEFLATED, 31)
    long = b"".join(line.compress(b"a" * (1 << 20)) for _ in range(400)) + line.flush()
    many = io.BytesIO()
    with gzip.open(many, "wb", 1) as out:
        header = tarfile.TarInfo("f").tobuf()
        for _ in range(200):
            out.write(header * 2000)
    wide = zipfile.ZipInfo("a/x.de")
    wide.compress_type = zipfile.ZIP_BZIP2
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, archive.open(wide, "w", force_zip64=True) as member:
        for _ in range(400):
            member.write(bytes(1 << 20))
    pax = io.BytesIO()
    with gzip.open(pax, "wb", 1) as out:
        info = tarfile.TarInfo("././@PaxHeader")
        info.type, info.size = tarfile.XHDTYPE, 400 << 20
        out.write(info.tobuf())
        for _ in range(400):
            out.write(bytes(1 << 20))
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"f"
    count = 600_000
    directory = entry * count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, len(directory), 0, 0)
    return {
        "a gz of one line": ("gz", long),
        "a zip of one line": ("zip", zipped({"a/x.de": b"a" * (100 << 20)})),
        "a tar of one line": ("tgz", tarred({"a/x.de": b"a" * (100 << 20)})),
        "a table of one line": ("table", b"a" * (100 << 20)),
        "a plain file of one line": ("plain", b"a" * (100 << 20)),
        "a zip packed by bzip2": ("zip", packed.getvalue()),
        "a tar of very many members": ("tgz", many.getvalue()),
        "a tar with a long header": ("tgz", pax.getvalue()),
        "a zip of very many members": ("zip", directory + end),
    }


def test_memory_follows_nothing_that_is_sent(campaign, tmp_path: Path, server: Server, downloads: Downloads) -> None:
    good = Project(tmp_path / "good", "tgz", server, downloads).run().peak
    found = bombs() if campaign.full else {"a gz of one line": ("gz", gzip.compress(b"a" * (200 << 20), 1))}
    for name, (kind, content) in found.items():
        project = Project(tmp_path / name, kind, server, downloads)
        with campaign.trying("memory that would follow a file", name):
            server.files[PATHS[kind]] = content
            done = project.run()
            assert done.status == 1, (name, done)
            assert done.peak < good + MEMORY, (name, good, done)
            server.files = dict(RIGHT)
            project.check_right(project.run())


def broken(draw: random.Random, content: bytes) -> bytes:
    """The file with a few bytes changed, taken out, put in, doubled, or cut off."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        place = draw.randrange(len(changed) + 1)
        match draw.randrange(6):
            case 0 if place < len(changed):
                changed[place] ^= 1 << draw.randrange(8)
            case 1:
                changed[place : place + draw.randrange(1, 30)] = b""
            case 2:
                changed[place:place] = draw.randbytes(draw.randrange(1, 30))
            case 3:
                changed[place : place + 4] = draw.choice((b"\xff\xff\xff\xff", bytes(4), b"\0\0\0\x80"))
            case 4:
                changed[place:place] = changed[place : place + draw.randrange(1, 600)]
            case _ if draw.random() < 0.2 and place > 1:
                del changed[place:]
        if not changed:
            break
    return bytes(changed)


def retarred(draw: random.Random, tar: bytes) -> bytes:
    """A tar with a broken header field whose checksum is right all the same, packed anew."""
    changed = bytearray(tar)
    start = 512 * draw.randrange(len(tar) // 512)
    for _ in range(draw.choice((1, 2, 8))):
        changed[start + draw.randrange(500)] = draw.choice(
            (0, 0x20, 0x2F, 0x2E, 0x31, 0x37, 0x80, 0xFF, draw.randrange(256))
        )
    header = changed[start : start + 512]
    header[148:156] = b" " * 8
    changed[start + 148 : start + 156] = b"%06o\0 " % sum(header)
    return gzip.compress(bytes(changed), 1, mtime=0)


SMALL = [b"".join(b"%s %d.\n" % (word, number) for number in range(40)) for word in (b"Satz", b"Sentence")]


def sound_archives() -> dict[str, bytes]:
    """Small ones, to be broken: the name of each kind's file, and `pax`, a tar not packed yet."""
    pax = io.BytesIO()
    with tarfile.open(fileobj=pax, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in (("é" * 90, b"more"), ("a/x.de", SMALL[0]), ("l" * 150, b"")):
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(content), {"comment": "ü"}
            archive.addfile(info, io.BytesIO(content))
    return {
        "zip": zipped({"a/x.de": SMALL[0], "a/y": b"more"}),
        "tgz": tarred({"a/x.de": SMALL[0], "a/y": b"more"}),
        "gz": gzip.compress(SMALL[0], mtime=0),
        "pax": pax.getvalue(),
    }


def broken_archive(draw: random.Random, number: int, sound: dict[str, bytes]) -> tuple[str, bytes]:
    """One, and the kind of part that reads it."""
    kind = list(sound)[number % len(sound)]
    return ("tgz", retarred(draw, sound[kind])) if kind == "pax" else (kind, broken(draw, sound[kind]))


def test_broken_archives_are_read(campaign, tmp_path: Path) -> None:
    """Thousands: each gives lines, or one DataError of one clean line, and writes nothing."""
    draw, sound, path = random.Random(18), sound_archives(), tmp_path / "x"
    for number in range(campaign.trials(full=8000, short=400)):
        kind, content = broken_archive(draw, number, sound)
        path.write_bytes(content)
        with campaign.trying("a broken archive"):
            try:
                with archives.opened(path, f"https://a.org/x.{kind}", None if kind == "gz" else "a/x.de") as file:
                    assert sum(map(len, readers.read_lines(file, "x"))) < 1 << 20
                said = "https://a.org/x.: nothing"
            except files.DataError as error:
                said = str(error)
            assert said.startswith("https://a.org/x."), said
            assert said.isprintable(), said
            assert len(said) < 500, said
            assert os.listdir(tmp_path) == ["x"]


def test_broken_archives_are_fetched_again(campaign, tmp_path: Path, server: Server, downloads: Downloads) -> None:
    """By the command: what is left of a broken one is gone as soon as the right one is there."""
    draw, sound = random.Random(19), sound_archives()
    projects = {kind: Project(tmp_path / kind, kind, server, downloads) for kind in ("zip", "tgz", "gz")}
    server.files["/x.en"] = SMALL[1]
    for number in range(campaign.trials(full=100, short=6)):
        kind, content = broken_archive(draw, number, sound)
        folder = projects[kind].folder
        with campaign.trying("a broken archive, then the right one"):
            server.files[PATHS[kind]] = content
            done = downloads.run(folder)
            assert "Traceback" not in done.said, done
            assert done.said.count("\n") == (done.status != 0), done
            server.files[PATHS[kind]] = sound[kind]
            if not done.status:  # nothing tells that it is damaged, if it is: no checksum covers the place
                for path in (folder / "work/downloads").iterdir():
                    path.unlink()
            again = downloads.run(folder)
            assert (again.status, again.said) == (0, ""), again
            assert (folder / "data/download/toy/train.source.txt").read_bytes() == SMALL[0]
            for path in (folder / "work/downloads").iterdir():
                assert path.suffix not in (".partial", ".doubt"), path
                path.unlink()
            assert set(os.listdir(folder)) <= {"corpora", "said.txt", "work", "data"}


UNSAFE = ["../evil", "a/../../evil", "/tmp/evil", "..\\evil", "C:evil", "a/" + "../" * 40 + "evil", "\x1b[2J/../x"]


def test_unsafe_and_odd_members(campaign, tmp_path: Path, server: Server, downloads: Downloads) -> None:
    odd = {
        f"{kind} {name[:9]!r}": (kind, pack({"a/x.de": GERMAN, name: b"evil"}))
        for name in UNSAFE
        for kind, pack in (("zip", zipped), ("tgz", tarred))
    }
    odd |= {
        f"tar type {kind!r}": ("tgz", tarred({"a/x.de": b""}, kind))
        for kind in (b"1", b"2", b"3", b"4", b"5", b"6", b"7x"[:1], b"Z")
    }
    odd |= {
        f"zip method {method}": ("zip", zipped({"a/x.de": GERMAN}, method))
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    }
    odd |= {
        "another case": ("zip", zipped({"A/X.DE": GERMAN})),
        "no member": ("tgz", tarred({})),
        "bz2": ("gz", bz2.compress(GERMAN)),
    }
    odd |= {"gz twice": ("gz", gzip.compress(gzip.compress(GERMAN)))}
    chosen = list(odd.items()) if campaign.full else random.Random(2).sample(list(odd.items()), 4)
    for number, (name, (kind, content)) in enumerate(chosen):
        project = Project(tmp_path / str(number), kind, server, downloads)
        with campaign.trying("an unsafe or odd archive", name):
            server.files[PATHS[kind]] = content
            done = project.run()
            assert done.status == 1 or name == "tar type b'7'", (name, done)
            server.files = dict(RIGHT)
            project.check_right(project.run())
            assert not Path("/tmp/evil").exists()


def test_a_broken_record_in_the_store(campaign, tmp_path: Path, server: Server, downloads: Downloads) -> None:
    """What a killed process or a failing disk leaves beside a partial file."""
    known = {"address": f"{server.address}/x.de", "validator": "\n\n", "total": len(GERMAN)}
    records = [b"", b"{", b"[]", b"\xff\xfe", b'{"address": 3}', json.dumps({**known, "total": "9"}).encode()]
    records.append(json.dumps(known).encode())
    for number, record in enumerate(records[:: 1 if campaign.full else 3]):
        server.answers["/x.de"] = half(lambda right: right[:99])
        project = Project(tmp_path / str(number), "plain", server, downloads)
        with campaign.trying("a broken record of a partial file"):
            assert project.run().status == 1
            server.answers.clear()
            [path] = (project.folder / "work/downloads").glob("*.partial.json")
            path.write_bytes(record)
            project.check_right(project.run())
