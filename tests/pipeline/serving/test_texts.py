"""Texts in sentences, and put together again."""

import pytest

from pipeline.serving import texts


def split(text, *, by_sentence=True, longest=40):
    return texts.split(text, "en", lambda line: len(line) <= longest, by_sentence=by_sentence)


@pytest.mark.parametrize(
    "text", ["", " \n", "One. Two?  Three!\n\n- four\t\r\nfive", "Dr. No said: 'Go.' He went.", "… 42 …"]
)
def test_a_text_comes_back_letter_for_letter(text):
    for by_sentence in (True, False):
        found = split(text, by_sentence=by_sentence)
        assert found.join(found.sentences) == text


def test_sentences_and_lines():
    assert split("One. Two?\nThree").sentences == ["One.", "Two?", "Three"]
    assert split("One. Two?\nThree", by_sentence=False).sentences == ["One. Two?", "Three"]
    assert split("Mr. Smith and J. Doe came.").sentences == ["Mr. Smith and J. Doe came."]


def test_a_long_sentence_is_cut_at_a_clause():
    assert split("When winter was over, the birds came back", longest=30).sentences == [
        "When winter was over,",
        "the birds came back",
    ]


def test_what_has_no_letter_is_no_sentence():
    assert split("42\n...\nword").sentences == ["word"]
