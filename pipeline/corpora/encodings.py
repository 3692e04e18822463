"""The lines of a text as people have it: in UTF-8, UTF-16 or UTF-32, with the ends of any system."""

import codecs
import io
from collections.abc import Iterator
from typing import IO, cast

from ..common import files

SAMPLE_BYTES = 8192  # of a text's beginning, which say how it is written
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, with which it begins
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ZEROS = 1 / 400  # share of UTF-16's bytes that are 0, at least: a space or a line end in 200 characters


def lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines in UTF-8, without ends and byte-order mark; an end is \\n or \\r\\n or, in a text without \\n, \\r.

    A line that is not UTF-8 stays as it is, unless no other is: then the whole text is in another encoding.

    Raises: DataError for such a text, or a line that has no end for too long, or one of another kind.
    """
    sample = cast(io.BufferedReader, file).peek(SAMPLE_BYTES)
    encoding = encoding_of(sample)
    begin = sample.decode(encoding, "ignore")
    end = "\r" if "\r" in begin and "\n" not in begin else "\n"
    errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
    text = io.TextIOWrapper(file, encoding, errors, newline=end)

    def readline(size: int) -> bytes:
        try:
            return text.readline(size).replace(end, "\n").encode("utf-8", "surrogateescape")
        except UnicodeDecodeError as error:
            raise files.DataError(f"{name}: invalid {encoding.upper()}, {error.reason}; expected it whole") from None

    wrong, is_utf8 = (b"", 0), False
    for number, line in enumerate(files.bounded_lines(readline, name), 1):
        content = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\n" in content:
            raise files.DataError(f"{name} line {number}: ends in LF, those before in CR; expected one of them")
        if not is_utf8 and not content.isascii():
            try:
                is_utf8 = bool(content.decode("utf-8"))
            except UnicodeDecodeError:
                wrong = wrong if wrong[1] else (content, number)
        yield content
    if not is_utf8:
        files.decoded(wrong[0], name, wrong[1])


def encoding_of(sample: bytes) -> str:
    """The encoding of a text that begins so: by its mark or, in UTF-16 without one, by its spaces; else UTF-8."""
    for mark, encoding in MARKS.items():
        if sample.startswith(mark):
            return encoding
    spaces = "\n" if b"\n" in sample else "\r "
    for encoding in "utf-16-le", "utf-16-be":
        text = sample.decode(encoding, "ignore")
        if sample.count(0) > ZEROS * len(sample) and "\0" not in text and any(space in text for space in spaces):
            return encoding
    return "utf-8"
