"""Tables as files have them in the wild: whose their quotes are, and two of their columns."""

import gzip
import re

import pytest

from pipeline.common.files import DataError
from pipeline.corpora import tables
from pipeline.corpora.readers import TextFile


@pytest.fixture
def pairs(tmp_path):
    """The pairs of a table of these bytes, by its name."""

    def read(content, columns=(1, 2), name="x.tsv", quoting=None):
        (path := tmp_path / name).write_bytes(content)
        return list(tables.columns(TextFile(name, path), *columns, ("de", "en"), quoting=quoting))

    return read


@pytest.mark.parametrize(
    ("table", "first"),
    [
        ('"Ja\tyes\n"Nein\tno\n', '"Ja'),  # a quote that nobody closes, or that closes in another line
        ('"Ja" oft\tyes\n"Nein."\tno.\n', '"Ja" oft'),
        ('"Ja\tyes\nNein"\tno\n', '"Ja'),
        ('"""Ja."""\tyes\n', '"Ja."'),
        ('"Ja, gut."\tyes\nNein.\tno.\n', "Ja, gut."),  # Excel, which leaves no comma without quotes
        ('"Ja."\t"yes"\n"Nein."\t"no"\n', "Ja."),  # all cells
        ('"Ja\tnein"\tyes\nNein\tno\n', "Ja\tnein"),
        ('"Ja\nnein"\tyes\n', "Ja nein"),
    ],
)
def test_all_quotes_of_a_table_say_whose_they_are(pairs, table, first):
    read = pairs(table.encode())
    assert (read[0][0].decode(), len(read)) == (first, table.count("\n") - (first == "Ja nein"))
    assert b'"' not in read[0][1]


@pytest.mark.parametrize("row", [b'"Nein."\tno', b'"Ja, doch"\tyes, indeed'])
def test_quotes_that_may_be_of_both_kinds_are_asked_about(pairs, row):
    table = b'"""Ja""?"\tyes\n%b\nOft\toften\n' % row
    with pytest.raises(DataError, match=r"^x\.tsv: has quotes around .*`quoting: raw` \(--quoting raw\) to keep them"):
        pairs(table)
    table = table.replace(row, b'"Nein."\tno')
    assert pairs(table, quoting="raw")[:2] == [(b'"""Ja""?"', b"yes"), (b'"Nein."', b"no")]
    assert pairs(table, quoting="quoted")[:2] == [(b'"Ja"?', b"yes"), (b"Nein.", b"no")]


def test_columns_by_number_or_by_name(pairs):
    table = b'"en\tfr" said\tCC\r\n"\t\t\n'
    assert pairs(table, (2, 1)) == [(b'fr" said', b'"en'), (b"", b'"')]
    assert pairs(b"no\ten\tfr\n1\ta\tb\n", ("fr", "en")) == [(b"b", b"a")]


def test_a_table_with_commas(pairs):
    table = gzip.compress(b'no,en,fr\n1,"a, ""b""\nc",d\n')
    assert pairs(table, ("en", "fr"), "x.csv.gz") == [(b'a, "b" c', b"d")]
    with pytest.raises(DataError, match=r"^x\.csv: not valid CSV, got "):
        pairs(b'"a" b,c\n', name="x.csv")
    assert pairs(b'"a" b,c\n', name="x.csv", quoting="raw") == [(b'"a" b', b"c")]


@pytest.mark.parametrize(
    ("name", "table", "pairs_of"),
    [
        ("x.csv", 'Deutsch;English\r\nÖl, alt;oil\r\n"a;b\nc";d\r\n', [("Öl, alt", "oil"), ("a;b c", "d")]),
        ("x.CSV", "sep=;\r\nÖl;oil\r\n", [("Öl", "oil")]),
        ("x.csv", "Öl;oil;1,5\nEi;egg;2,5\n", [("Öl", "oil"), ("Ei", "egg")]),  # not by the decimal comma
        ("x.csv", "Öl\toil\nEi\tegg\n", [("Öl", "oil"), ("Ei", "egg")]),
        ("x.csv", "Source text (DE),target_en,note\nÖl,oil,\n", [("Öl", "oil")]),
        ("x.tsv", "German\tEnglish\nÖl\toil\n", [("Öl", "oil")]),
        ("x.tsv", "Text\tÖl\nÖl\toil\n", [("Text", "Öl"), ("Öl", "oil")]),
        ("x.tsv", "de\tfr\nÖl\toil\n", [("de", "fr"), ("Öl", "oil")]),  # the languages are de and en
        (
            "x.tsv",
            "\n\t\nÖl\toil\n\nEi\tegg\n\n",
            [("", ""), ("", ""), ("Öl", "oil"), ("", ""), ("Ei", "egg"), ("", "")],
        ),
        ("x.csv", "\n;\nÖl;oil\nEi;egg\n", [("", ""), ("", ""), ("Öl", "oil"), ("Ei", "egg")]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_tables_as_spreadsheets_write_them(pairs, name, table, pairs_of, encoding):
    assert pairs(table.encode(encoding), name=name) == [(a.encode(), b.encode()) for a, b in pairs_of]


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("x.tsv", b"a\tb\n", (1, 3), "row 1: got 2 columns; expected 3 with tabs between (commas or "),
        ("x.tsv", b"a\tb\nc\td\te\n", (1, 2), "row 2: got 3 columns; expected 2 with tabs between ("),
        (
            "x.csv",
            b"a,b\nc,d,e\n",
            (1, 2),
            "row 2: got 3 columns; expected 2 with commas between (a cell that holds one ",
        ),
        ("x.tsv", b"fr\ten\n", ("fr", "eng"), ": has no column 'eng'; nearest is 'en'"),
    ],
)
def test_a_row_of_another_width_is_refused(pairs, name, content, columns, message):
    with pytest.raises(DataError, match=f"^{re.escape(name)}:? ?{re.escape(message.lstrip(': '))}"):
        pairs(content, columns, name)
