"""TextFile formats, as files have them in the wild, and the pairs that they hold."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from pipeline.common import files
from pipeline.common.files import DataError, NotParallel
from pipeline.corpora import archives
from pipeline.corpora.archives import Damaged, archive_kind
from pipeline.corpora.readers import TextFile

TAGGED = b"""<url>http://www.ted.com/talks/x</url>
<talkid>1</talkid>
<title>Ann: On water</title>
 Water runs .
 <laughter> is no tag of theirs .
<translator href="http://x">N. N.</translator>
"""


@pytest.fixture
def text(tmp_path):
    """A text of these bytes, by its name."""

    def make(content, name="x.de", member=None):
        (path := tmp_path / name).write_bytes(content)
        return TextFile(name, path, member)

    return make


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"a/{name}.de", content)
    return out.getvalue()


def tarred(mode="w:gz", **members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"a/{name}.de")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\r\nb\n\n f ", [b"a", b"b", b"", b" f "]),
        ("c\x0b\u2028d\re\x85\n".encode(), ["c\x0b\u2028d\re\x85".encode()]),  # no ends of lines, though Unicode's
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", [b"a", b"\xef\xbb\xbfb"]),
        (b"caf\xe9\n\xc3\xa9\n", [b"caf\xe9", b"\xc3\xa9"]),  # a line of another encoding among those of UTF-8
    ],
)
def test_lines_end_in_lf_or_crlf_and_nothing_else(text, content, lines):
    assert list(text(content).lines()) == lines
    assert list(text(gzip.compress(content), "x.de.gz").lines()) == lines


def test_members_of_archives_and_of_gzip(text):
    members = {"x": b"un\ndeux\n", "y": b"no\n"}
    tars = {
        f"x.{ending}": tarred(mode, **members) for ending, mode in (("tgz", "w:gz"), ("tar", "w:"), ("txz", "w:xz"))
    }
    for name, content in {"x.zip": zipped(**members), **tars}.items():
        assert list(text(content, name, "a/x.de").lines()) == [b"un", b"deux"]
    assert list(text(gzip.compress(b"un\nde") + gzip.compress(b"ux\n"), "x.gz").lines()) == [b"un", b"deux"]


@pytest.mark.parametrize("name", ["x.de", "x.de.xz", "x.de.gz"])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_the_first_bytes_say_how_a_text_is_packed(text, name, pack):
    assert list(text(pack(b"un\ndeux\n"), name).lines()) == [b"un", b"deux"]


@pytest.mark.parametrize("content", [zipped(x=b"un"), b"\x28\xb5\x2f\xfdun"])
def test_a_text_in_another_form_is_named(text, content):
    with pytest.raises(DataError, match=r"^x\.de: is (zstd|a zip or \.xlsx file); expected text: unpack it, "):
        list(text(content).lines())


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        (tarfile.SYMTYPE, 0, "member 'a' is a folder or a link; expected a regular file"),
        (tarfile.DIRTYPE, 0, "member 'a' is a folder or a link; expected a regular file"),
        (tarfile.XHDTYPE, 1 << 30, "damaged or no tar file, got a header of "),
        (tarfile.REGTYPE, 0, "has over 10 members; expected fewer"),
    ],
)
def test_a_tar_with_odd_or_endless_members(text, monkeypatch, kind, size, message):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 10)
    info = tarfile.TarInfo("a" if kind != tarfile.REGTYPE else "b")
    info.type, info.size, info.linkname = kind, size, "/etc/passwd"
    with pytest.raises(DataError, match=rf"^x\.tgz: {message}"):
        list(text(gzip.compress(info.tobuf() * 20), "x.tgz", "a").lines())


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        *(("https://a.org/x.TGZ?v=1.zip", "tar"), ("my/x.tar.gz", "tar"), ("x.en.gz", "file"), ("x.en", "file")),
        *(("https://a.org/x.zip", "zip"), ("x.tar", "tar"), ("x.de.zst", "unsupported"), ("x.xlsx", "unsupported")),
    ],
)
def test_the_name_says_how_a_file_is_packed(address, kind):
    assert archive_kind(address) == kind


@pytest.mark.parametrize(("name", "content"), [("x.zip", zipped(x=b"")), ("x.tgz", tarred(x=b""))], ids=["zip", "tgz"])
def test_a_member_that_is_not_there(text, name, content):
    with pytest.raises(DataError) as error:
        list(text(content, name, "a/x.fr").lines())
    assert str(error.value) == f"{name}: has no member 'a/x.fr'; nearest is 'a/x.de'"


BODY = b"".join(b"%d\n" % (number * 7919 % 100_000) for number in range(20_000))


@pytest.mark.parametrize(
    ("name", "content", "member"),
    [
        ("x.gz", b"Too many requests", None),
        ("x.gz", gzip.compress(BODY)[:-9], None),
        ("x.de", gzip.compress(BODY)[:-9], None),
        ("x.zip", zipped(x=BODY)[:-10], "a/x.de"),
        ("x.tgz", tarred(x=BODY)[:9000], "a/x.de"),
        ("x.tgz", b"<html>", "a/x.de"),
    ],
    ids=["message", "cut gz", "cut gz without ending", "cut zip", "cut tgz", "html"],
)
def test_a_damaged_archive(text, name, content, member):
    kind = {"x.gz": "gz", "x.de": "packed", "x.zip": "zip", "x.tgz": "tar"}[name]
    with pytest.raises(Damaged, match=rf"^{name}: damaged or no {kind} file, got .*; expected a whole one$"):
        list(text(content, name, member).lines())


def test_a_line_without_an_end(text):
    assert list(text(b"a" * (files.LINE_BYTES - 1)).lines())
    with pytest.raises(DataError, match=r"^x.de line 2: has over 1,048,576 bytes; expected one sentence a line$"):
        list(text(b"a\n" + b"b" * files.LINE_BYTES).lines())


@pytest.mark.parametrize("begin", [b'<refset trglang="en">', b"<?xml version='1.0'?>", b" <TMX>", b"<!DOCTYPE mteval>"])
def test_marked_up_text_is_refused(text, begin):
    """Its tags would be translated and scored, and hide a sentence that leaks."""
    with pytest.raises(DataError, match=r"^dev\.sgm: is SGML or XML, got .*; expected a sentence a line, or TMX"):
        list(text(begin + b"\n<seg id='1'>a</seg>\n", "dev.sgm").lines())


def test_of_an_iwslt_training_file_only_the_text_is_read(text):
    wanted = [b"Water runs .", b"<laughter> is no tag of theirs ."]
    assert list(text(TAGGED, "train.tags.de-en.de").lines()) == wanted
    assert len(list(text(TAGGED).lines())) == 6


@pytest.mark.parametrize(("num_source", "num_target"), [(3, 2), (2, 3), (0, 2)])
def test_texts_of_different_length_are_named_with_both_counts(text, num_source, num_target):
    with pytest.raises(NotParallel) as error:
        list(files.parallel(text(b"\n" * num_source), text(b"\n" * num_target, "x.en"), TextFile.lines))
    assert str(error.value) == f"x.de has {num_source} lines, x.en {num_target}: the two files must be parallel"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_mark_or_the_text_itself_says_how_it_is_encoded(text, encoding):
    content = "Öl ist 上.\r\n\u4e00\u2028x\n".encode(encoding)
    assert [line.decode() for line in text(content).lines()] == ["Öl ist 上.", "\u4e00\u2028x"]
    assert len(list(text(gzip.compress(content), "x.gz").lines())) == 2


def test_old_ends_of_lines(text):
    assert list(text(b"a\r\rb\r").lines()) == [b"a", b"", b"b"]
    with pytest.raises(DataError, match=r"^x\.de line 3001: ends in LF, those before in CR; expected one of them$"):
        list(text(b"Satz\r" * 3000 + b"a\nb\r").lines())


@pytest.mark.parametrize(
    "content", [b"caf\xe9\nja\n", "上海\n上海\n".encode("gb18030"), b"\xff\xfea\0b", b"\xff\xfe\0\xd8a\0"]
)
def test_another_encoding_is_refused(text, content):
    with pytest.raises(
        DataError, match=r"^x\.de( line 1: invalid UTF-8, got byte .* Windows-1252; |: invalid UTF-16, )"
    ):
        list(text(content).lines())
