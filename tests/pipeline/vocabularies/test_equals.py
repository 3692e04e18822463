"""Characters that a vocabulary lacks, written by those that it has."""

import string

import pytest

from pipeline.vocabularies.equals import Equals

PLAIN = string.ascii_letters + "0123456789'-.,?!/\""


@pytest.mark.parametrize(
    ("known", "text", "expected"),
    [
        *((PLAIN, "L’été ʼn′", "L'ete 'n'"), (PLAIN, "“a” « b »", '"a" " b "'), (PLAIN, "a‑b–c − d…", "a-b-c - d...")),
        *((PLAIN, "ﬁn Ａ１！", "fin A1!"), (PLAIN, "2½ m² ① ٣४", "2 1/2 m2 1 34"), (PLAIN, "№ ™", "No TM")),
        *((PLAIN, "Łódź Ångström Ếñø", "Lodz Angstrom Eno"), (PLAIN, "œuvre Æ ẞ ß", "oeuvre Ae ss ss")),
        *((PLAIN, "שׁ 🙂❤\ufe0f", "ש 🙂❤"), (PLAIN, "Привет かが", "Привет かが")),  # none: they stay
        *(("’e«»—", "'é “a” - –", "’e «a» — —"), ("éeê", "É Ế", "é ê"), ("e", "É", "e"), ("E", "é", "E")),
    ],
)  # fmt: skip
def test_by_hand(known, text, expected):
    assert text.translate(Equals(known)) == expected


def test_bytes_write_what_has_no_equal_without_a_loss():
    assert "L’été ﬁn".translate(Equals(PLAIN, may_lose=False)) == "L'été fin"
