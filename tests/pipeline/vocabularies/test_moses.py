"""Words by the rules of Moses, and the text that comes back from them."""

import pytest

from pipeline.vocabularies.words import Moses


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("fr", "L'arbre est grand, non ?", "L' arbre est grand , non ?"),
        ("fr", "« Où vas-tu ? » demanda-t-elle...", "« Où vas-tu ? » demanda-t-elle ..."),
        ("en", "The cat's tail isn't long.", "The cat 's tail isn 't long ."),
        ("en", "Mr. Smith has $3,500 (not 20%)!", "Mr. Smith has $ 3,500 ( not 20 % ) !"),
        ("de", "Dr. Müller hat z.B. 3,5 Äpfel.", "Dr. Müller hat z.B. 3,5 Äpfel ."),
    ],
)
def test_words_by_hand_and_back(language, text, words):
    moses = Moses(language)
    assert moses.split(text) == words.split()
    assert moses.join(words.split()) == text


def test_nothing_is_escaped_or_unescaped():
    moses = Moses("en")
    assert moses.split("a & b | c < d 'e' [f]") == [*"a&b|c<d'e'[f]"]
    assert moses.split("&amp;") == ["&", "amp", ";"]
    assert moses.join(["&amp;", "&apos;"]) == "&amp; &apos;"


def test_words_hold_no_white_space():
    text = "one\x0btwo\x0cthree\u2028four\x85five\x1csix\r\u3000seven"
    assert Moses("en").split(text) == ["one", "two", "three", "four", "five", "six", "seven"]
    assert Moses("en").split(" \t") == []
    assert Moses("en").join([]) == ""


@pytest.mark.parametrize(
    ("language", "words"), [("fr_CA", ["l'", "été"]), ("FR", ["l'", "été"]), ("xx", ["l", "'", "été"])]
)
def test_rules_are_those_of_the_language_whatever_the_region(language, words):
    assert Moses(language).split("l'été") == words
