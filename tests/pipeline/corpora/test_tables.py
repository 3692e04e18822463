"""Tables as files have them in the wild: whose their quotes are, and two of their columns."""

import gzip

import pytest

from pipeline.common.files import DataError
from pipeline.corpora import tables
from pipeline.corpora.readers import TextFile


@pytest.fixture
def pairs(tmp_path):
    """The pairs of a table of these bytes, by its name."""

    def read(content, columns=(1, 2), name="x.tsv", quoting=None):
        (path := tmp_path / name).write_bytes(content)
        return list(tables.columns(TextFile(name, path), *columns, quoting=quoting))

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


def test_utf16_and_old_ends_of_lines(pairs):
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"):
        assert pairs("Öl\toil\r\nEi\tegg\r\n".encode(encoding)) == [("Öl".encode(), b"oil"), (b"Ei", b"egg")]
    assert pairs(b"a\tb\rc\td\r") == [(b"a", b"b"), (b"c", b"d")]


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
    ("content", "columns", "message"),
    [
        (b"a\tb\n", (1, 3), "x.tsv row 1: got 2 columns; expected at least 3"),
        (b"a\tb\tc\nalone\n", (1, 3), "x.tsv row 2: got 1 columns; expected 3, as the first has"),
        (b"a\tb\nc\td\te\n", (1, 2), "x.tsv row 2: got 3 columns; expected 2, as the first has"),
        (b"a\tb\n\n", (1, 2), "x.tsv row 2: got 1 columns; expected 2, as the first has"),
        (b"fr\ten\n", ("fr", "eng"), "x.tsv: has no column 'eng'; nearest is 'en'"),
    ],
)
def test_a_row_of_another_width_is_refused(pairs, content, columns, message):
    with pytest.raises(DataError) as error:
        pairs(content, columns)
    assert str(error.value) == message
