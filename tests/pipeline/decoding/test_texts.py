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


TEXTS = ["", " \n", "One. Two?  Three!\n\n- four\t\r\nfive", "Dr. No said: 'Go.'", "… 42 …", " one\u2028two \n"]


@pytest.mark.parametrize("text", TEXTS)
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


@pytest.mark.parametrize("line", ["42 ... ▁", "😀 {n} %s", "<b></b> 東京"])
def test_what_has_no_letter_is_no_part(line):
    assert split(line, by_sentence=False) == ([], [line])


def test_texts_of_a_plural_are_parts():
    found = split("{n, plural, one {{name}: # cat} other {# cats}} here", by_sentence=False)
    assert found.join([f"{part.upper()}." for part in found.parts]) == (
        "{n, plural, one {{NAME}: # CAT} other {# CATS}} HERE."
    )


def test_no_tag_is_cut():
    parts = split('One <a href="b c d e f g h i j k">two</a>, three four', longest=12).parts
    assert parts == ['One <a href="b c d e f g h i j k">two</a>,', "three four"]
