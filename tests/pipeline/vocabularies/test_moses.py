"""Words by the rules of Moses, and the text that comes back from them."""

import pytest

from pipeline.vocabularies.moses import Moses

SENTENCES = {
    "fr": [
        "Il n'est pas là aujourd'hui, n'est-ce pas ?",
        "L'arbre de Mme. Dupont mesure 3,5 mètres (environ).",
        "« Où vas-tu ? » demanda-t-elle...",
        "C'est M. Martin qui l'a dit : tout va bien !",
    ],
    "en": [
        "I don't know, but she's at Mr. Smith's house.",
        "The children's dogs weren't there (were they?), at 5 p.m. or so.",
        "It cost $1,000.50, i.e. 20% more!",
        'He said "never" twice: "never, never"...',
    ],
    "de": [
        "Dr. Müller hat z.B. 3,5 Äpfel gegessen.",
        "Ein Mann in einem blau-weißen Hemd steht auf einer Leiter, oder?",
        "Sie rief: Komm doch!",
    ],
}


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("fr", "L'arbre est grand, non ?", "L' arbre est grand , non ?"),
        ("en", "The cat's tail isn't long.", "The cat 's tail isn 't long ."),
        ("de", "Das ist's, z.B. hier.", "Das ist ' s , z.B. hier ."),
        ("en", "Mr. Smith has 3,500 dogs...", "Mr. Smith has 3,500 dogs ..."),
        ("en", "ROME is Rome (not rome)", "ROME is Rome ( not rome )"),
        ("en", "  one\ttwo\u00a0three  ", "one two three"),
        ("en", "", ""),
    ],
)
def test_words_by_hand(language, text, words):
    assert Moses(language).split(text) == words.split()


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in SENTENCES.items() for text in texts])
def test_text_comes_back(language, text):
    moses = Moses(language)
    assert moses.join(moses.split(text)) == text


@pytest.mark.parametrize(
    ("language", "text", "joined"), [("fr", "l’été", "l ’ été"), ("en", "R&D and/or him", "R & D and / or him")]
)
def test_some_spaces_are_not_undone(language, text, joined):
    """Moses keeps no record of where it put them."""
    moses = Moses(language)
    assert moses.join(moses.split(text)) == joined


def test_nothing_is_escaped_or_unescaped():
    moses = Moses("en")
    assert moses.split("a & b | c < d 'e' [f]") == [*"a&b|c<d'e'[f]"]
    assert moses.split("&amp;") == ["&", "amp", ";"]
    assert moses.join(["&amp;", "&apos;"]) == "&amp; &apos;"


def test_a_words_text_is_one_line_without_white_space():
    text = "one\x0btwo\x0cthree\u2028four\x85five\x1csix\r\u3000seven"
    assert Moses("en").split(text) == ["one", "two", "three", "four", "five", "six", "seven"]


def test_joining_an_iterator_or_nothing():
    assert Moses("en").join(iter(["a", "cat", "."])) == "a cat."
    assert Moses("en").join([]) == ""


@pytest.mark.parametrize("language", ["fr_FR", "fr-CA", "FR"])
def test_rules_are_those_of_the_language_whatever_the_region(language):
    assert Moses(language).split("l'été") == ["l'", "été"]


def test_a_language_without_rules_is_split_as_the_others_are():
    assert Moses("xx").split("Mr. Smith, l'été") == ["Mr.", "Smith", ",", "l", "'", "été"]
