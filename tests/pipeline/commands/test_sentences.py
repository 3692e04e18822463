import io
import sys

import pytest

from pipeline.commands import sentences
from pipeline.files import DataError
from pipeline.preparation.seen_words import SeenWords


def test_a_sentence_is_a_line_or_several():
    for given, expected in (("le chat", ["le chat"]), ("", [""]), ("a\nb", ["a", "b"])):
        found = sentences.lines(given, None, 200)
        assert (list(found.lines), found.origin, found.total) == (expected, "sentence", len(expected))


def test_a_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("où\n\nlà\r\nend".encode())
    found = sentences.lines(None, path, 200)
    assert (found.origin, found.together, found.total) == (str(path), 200, 4)
    assert list(found.lines) == ["où", "", "là", "end"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("où\n\nlà\r\nend".encode())))
    found = sentences.lines(None, None, 200)
    assert (found.origin, found.together, found.total) == ("standard input", 200, None)
    assert list(found.lines) == ["où", "", "là", "end"]


def test_a_line_without_an_end_is_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n" + b"b" * (1 << 21))))
    with pytest.raises(DataError) as caught:
        list(sentences.lines(None, None, 200).lines)
    assert str(caught.value) == "standard input line 2: has over 1,048,576 bytes; expected one sentence a line"


def test_only_a_line_feed_ends_a_line():
    assert list(sentences.decoded(["a\u2028b\x0bc\n".encode()], "x")) == ["a\u2028b\x0bc"]


def test_two_origins_are_refused(tmp_path):
    with pytest.raises(DataError) as caught:
        sentences.lines("le chat", tmp_path / "text.txt", 200)
    assert str(caught.value) == ("--file: must stand alone, got 'le chat' too; expected one of the two")


def test_a_missing_file_is_named(tmp_path):
    for path, what in ((tmp_path / "text.txt", "no such file"), (tmp_path, "not a file")):
        with pytest.raises(DataError) as caught:
            sentences.lines(None, path, 200)
        assert str(caught.value) == f"--file: {what}, got {str(path)!r}; expected one sentence a line"


def test_closed_standard_input_is_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError) as caught:
        sentences.lines(None, None, 200)
    assert str(caught.value) == ("standard input: is closed; expected a sentence, --file, or lines on standard input")


def test_the_end_of_a_line_adds_no_line():
    assert list(sentences.lines("le chat\n", None, 200).lines) == ["le chat"]


def test_bytes_that_are_no_text_are_named():
    found = sentences.lines("le chat\nle \udcff chat", None, 200)
    with pytest.raises(DataError) as caught:
        list(found.lines)
    assert str(caught.value) == ("sentence line 2: invalid UTF-8, got byte 0xff at column 4; expected text in UTF-8")


class Knowing:
    """A translator that knows words."""

    seen_words = SeenWords(["fine", "long"])

    def knows(self, source):
        return bool(source.ids) and 1 not in source.ids


def test_warnings_name_the_line(capsys):
    for source, line in (
        (sentences.SourceLine([5, 6], 2), "fine"),
        (sentences.SourceLine([], 0), ""),
        (sentences.SourceLine([5, 6], 9), "long"),
        (sentences.SourceLine([1], 1), "?"),
        (sentences.SourceLine([1], 3), "?" * 99),
        (sentences.SourceLine([5, 6], 2), "Fine, Léa?"),
        (sentences.SourceLine([5, 6], 2), "a b long c D e f, d " + "g" * 99),
        (sentences.SourceLine([5, 6], 9), "x" * 99),
    ):
        sentences.warn(Knowing(), source, line, "a.txt line 3")
    assert capsys.readouterr().err.splitlines() == [
        "warning: a.txt line 3: longer than in training, got 9 pieces; only the first 2 are translated",
        "warning: a.txt line 3: only unknown pieces, got '?'; expected text like that of the training part",
        "warning: a.txt line 3: longer than in training, got 3 pieces; only the first 1 are translated",
        f"warning: a.txt line 3: only unknown pieces, got '{'?' * 60}...'; "
        "expected text like that of the training part",
        "warning: a.txt line 3: words that training never saw, got Léa; the translation may make no sense",
        "warning: a.txt line 3: words that training never saw, got a, b, c, D, e and 2 more; "
        "the translation may make no sense",
        "warning: a.txt line 3: longer than in training, got 9 pieces; only the first 2 are translated",
        f"warning: a.txt line 3: words that training never saw, got {'x' * 60}; the translation may make no sense",
    ]


def test_a_name_that_a_terminal_would_obey_is_escaped(capsys):
    for source, line in (([5], "Léa"), ([1], "?"), ([5, 6], "fine")):
        sentences.warn(Knowing(), sentences.SourceLine(source, 2 + (line == "fine")), line, "\x1b[2J.txt line 3")
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert said.count("warning: \\x1b[2J.txt line 3: ") == 5
