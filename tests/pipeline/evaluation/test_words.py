"""Words as BLEU counts them, and the spaces between them."""

import pytest
from sacrebleu.metrics.bleu import BLEU

from pipeline.evaluation.words import spaced, tokenizer


def test_words_are_those_of_bleu():
    assert tokenizer("13a")("He sleeps, it's 3.5.") == ["He", "sleeps", ",", "it's", "3.5", "."]
    assert tokenizer("char")("ab c") == ["a", "b", "c"]
    line = "«Non», dit-elle ; 1,5 €."
    assert tokenizer("intl")(line) == BLEU(tokenize="intl").tokenizer(line).split()


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("He sleeps.", ["He", "sleeps", "."], ["He", " sleeps", "."]),
        ("  a \u00a0 a", ["a", "a"], ["a", " a"]),
        ("你好吗", ["你", "好", "吗"], ["你", "好", "吗"]),
        ("a &quot; b", ["a", '"', "b"], ["a", ' "', " b"]),  # not letter for letter
        ("a x b", ["a", "b"], ["a", " b"]),  # a word is skipped
        ("", [], []),
    ],
)
def test_a_word_has_a_space_before_it_if_the_text_has_one(text, words, found):
    assert spaced(text, words) == found


def test_spaced_words_give_the_text_again():
    text = "Well, it's (almost) 3.5 % - or 1,000."
    assert "".join(spaced(text, tokenizer("13a")(text))) == text
