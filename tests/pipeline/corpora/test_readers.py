"""Text formats, as bytes."""

import io

import pytest

from pipeline import files
from pipeline.corpora import readers
from pipeline.files import DataError

TAGGED = b"""<url>http://www.ted.com/talks/x</url>
<keywords>talks, water</keywords>
<speaker>Ann Example</speaker>
<talkid>1</talkid>
<title>Ann: On water</title>
<description>A talk.</description>
 Water runs .
 <laughter> is no tag of theirs .
<reviewer href="http://x">N. N.</reviewer>
<translator href="http://x">N. N.</translator>
"""


def lines(content: bytes) -> list[bytes]:
    return list(readers.read_lines(io.BytesIO(content), "x.de"))


def text(name: str, *content: bytes) -> readers.Text:
    return readers.Text(name, iter(content))


def test_lines_end_in_lf_or_crlf_and_nothing_else() -> None:
    assert lines(b"a\r\nb\n\nc\x0b\xe2\x80\xa8d\re\n f ") == [b"a", b"b", b"", b"c\x0b\xe2\x80\xa8d\re", b" f "]
    assert lines(b"") == []


def test_a_line_without_an_end_is_named() -> None:
    assert lines(b"a" * (files.LINE_BYTES - 1) + b"\nb")[1] == b"b"
    with pytest.raises(DataError, match=r"^x.de line 2: has over 1,048,576 bytes; expected one sentence a line$"):
        lines(b"a\n" + b"b" * (files.LINE_BYTES + 1))


def test_the_last_line_is_bounded_as_if_it_had_an_end() -> None:
    """`download` writes one, and `clean` reads it."""
    assert len(lines(b"a\n" + b"b" * (files.LINE_BYTES - 1))[1]) == files.LINE_BYTES - 1
    with pytest.raises(DataError, match=r"^x.de line 2: has over 1,048,576 bytes; expected one sentence a line$"):
        lines(b"a\n" + b"b" * files.LINE_BYTES)


def test_a_byte_order_mark_is_no_text() -> None:
    assert lines(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n") == [b"a", b"\xef\xbb\xbfb"]


@pytest.mark.parametrize(
    "begin", [b'<refset trglang="en">', b"<?xml version='1.0'?>", b" <TMX version='1.4'>", b"<!DOCTYPE mteval>"]
)
def test_marked_up_text_is_refused(begin: bytes) -> None:
    """Its tags would be translated and scored, and hide a sentence that leaks."""
    with pytest.raises(DataError, match=r"^dev\.sgm: is SGML or XML, got .*; expected a sentence on each line$"):
        list(readers.read_lines(io.BytesIO(begin + b"\n<seg id='1'>a</seg>\n"), "dev.sgm"))


def test_of_an_iwslt_training_file_only_the_text_is_read() -> None:
    assert list(readers.read_lines(io.BytesIO(TAGGED), "x.de", tagged=True)) == [
        b"Water runs .",
        b"<laughter> is no tag of theirs .",
    ]
    assert lines(TAGGED)[0] == b"<url>http://www.ted.com/talks/x</url>"


@pytest.mark.parametrize(
    ("name", "tagged"),
    [("de-en/train.tags.de-en.de", True), ("https://a.org/train.tags.de-en.de.gz", True), ("train.tags/x", False)],
)
def test_the_name_tells_an_iwslt_training_file(name: str, tagged: bool) -> None:
    assert readers.is_tagged(name) is tagged


def test_parallel_lines_are_paired() -> None:
    pairs = readers.parallel(text("s", b"a", b"", b"c"), text("t", b"A", b"", b"C"))
    assert list(pairs) == [(b"a", b"A"), (b"", b""), (b"c", b"C")]


@pytest.mark.parametrize(("num_source", "num_target"), [(3, 2), (2, 3), (0, 2), (5, 1), (1, 0)])
def test_texts_of_different_length_are_named_with_both_counts(num_source: int, num_target: int) -> None:
    with pytest.raises(DataError) as error:
        list(readers.parallel(text("x.de", *[b""] * num_source), text("x.en", *[b""] * num_target)))
    assert str(error.value) == (f"x.de has {num_source} lines, x.en {num_target}: the two files must be parallel")


def test_columns_count_from_one() -> None:
    table = [b"en\tfr\tlicence\tmore", b"\t"]
    assert list(readers.columns(text("t", *table), 2, 1)) == [(b"fr", b"en"), (b"", b"")]
    assert list(readers.columns(text("t", table[0]), 1, 4)) == [(b"en", b"more")]


@pytest.mark.parametrize(("line", "got"), [(b"alone", "1 column"), (b"a\tb", "2 columns"), (b"", "1 column")])
def test_a_line_without_enough_columns_is_named(line: bytes, got: str) -> None:
    with pytest.raises(DataError) as error:
        list(readers.columns(text("x.tsv", b"a\tb\tc", line), 1, 3))
    assert str(error.value) == f"x.tsv line 2: {got}, expected at least 3"


def test_a_sentence_is_one_line() -> None:
    assert readers.flat("un\r\ndeux\n\ntrois\u2028é") == "un deux trois\u2028é".encode()


@pytest.mark.parametrize(("side", "pair"), [("x.de", (b"ab\xff", b"")), ("x.en", (b"", b"ab\xff"))])
def test_invalid_utf8_is_named(side: str, pair: readers.Pair) -> None:
    good = ("é".encode(), b"e")
    assert list(readers.decoded([good], "x.de", "x.en")) == [good]
    with pytest.raises(DataError) as error:
        list(readers.decoded([good, pair], "x.de", "x.en"))
    assert str(error.value) == f"{side} line 2: invalid UTF-8, got byte 0xff at column 3; expected text in UTF-8"
