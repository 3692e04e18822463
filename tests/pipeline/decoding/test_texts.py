"""Texts in parts, and put together again."""

import pytest

from pipeline.decoding import texts
from pipeline.serving.sentences import LINE, sentences
from pipeline.vocabularies.vocabulary import Vocabulary


class Letters:
    """A side of a vocabulary whose pieces are the letters and a few signs."""

    whole_words, spells_all, size = False, False, 60
    characters = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZé .,!?'-")

    def encode(self, lines):
        return [[4] * len(line) for line in lines]


VOCABULARY = Vocabulary(Letters(), Letters())


def split(text, *, by_sentence=True, longest=40):
    return texts.split(sentences(text, "en") if by_sentence else LINE.findall(text), VOCABULARY, longest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "One. Two?  Three!\n\n- four\t\r\nfive",
        "Dr. No said: 'Go.' He went.",
        "… 42 …",
        " one\u2028two \n",
    ],
)
def test_a_text_comes_back_letter_for_letter(text):
    for by_sentence in (True, False):
        found = split(text, by_sentence=by_sentence)
        assert found.join(found.parts) == text


def test_sentences_and_lines():
    assert split("One. Two?\nThree").parts == ["One.", "Two?", "Three"]
    assert split("One. Two?\nThree", by_sentence=False).parts == ["One. Two?", "Three"]
    assert split("Mr. Smith and J. Doe came.").parts == ["Mr. Smith and J. Doe came."]
    assert split("One\u2028line.").parts == ["One\u2028line."]


def test_a_long_sentence_is_cut_at_a_clause():
    assert split("When winter was over, the birds came back", longest=30).parts == [
        "When winter was over,",
        "the birds came back",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("42 ... ▁", "42 ... ▁"),
        ("Hello 😀 !", "HELLO 😀 !"),  # without the full stop of `HELLO.`
        ("One. 👨‍👩‍👧 two", "ONE.. 👨‍👩‍👧 TWO."),
        ("a Zoë 東京 b", "A ZOË 東京 B."),
        ("<b>one</b> %{name} %s &amp; {n}", "<b>ONE</b> %{name} %s &amp; {n}"),
        ("{n, plural, one {# cat} other {# cats}}", "{n, plural, one {# CAT} other {# CATS}}"),
        ("see https://a.fr/b?c=1 now", "SEE https://a.fr/b?c=1 NOW."),
        ("cafe\u0301", "CAFE\u0301."),
    ],
)
def test_what_no_piece_spells_is_copied(line, expected):
    found = split(line, by_sentence=False)
    assert found.join([f"{part.upper()}." for part in found.parts]) == expected
