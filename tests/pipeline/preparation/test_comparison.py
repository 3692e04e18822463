"""When sentences are the same: by hand, and the two levels against each other on strings of whatever Unicode has."""

import random
import unicodedata

import pytest

from pipeline.preparation.comparison import digest, folded, sentences
from tests.pipeline.common.test_normalisation import EVERY, TRICKY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Le  Chat\u00a0dort ", "le chat dort"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("\u00c9t\u00c9", "été"),
        ("E\u0301te\u0301", "été"),
        ("ﬁn Ａ ½", "fin a 1⁄2"),
        ("\u0390 \u03aa\u0301", "\u0390 \u0390"),
        ("\ufeffL'e\u00ad\u0301te\u200b\u0301", "l'été"),
        ("", ""),
    ],
)
def test_folded(text, expected):
    assert folded(text) == expected
    assert folded(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Où est la gare ?", ["ouestlagare"]),
        ("OU EST LA GARE", ["ouestlagare"]),
        ("Va-t-il à l'école… ou pas ?", ["vatilalecole", "oupas"]),
        ("Mr. Smith paid 3.50 €!", ["mr", "smithpaid3", "50"]),
        ("« Oui », dit-elle. “Non!”", ["oui", "ditelle", "non"]),
        ("Straße ＡＢＣ ﬁn x² Ⅳ", ["strasseabcfinx2iv"]),
        ("комп\u02bcютер", ["компютер"]),
        ("你好。我是学生！", ["你好", "我是学生"]),
        ("がか", ["か\u3099か"]),  # the dots make another letter
        ("मैं घर हूँ। हाँ", ["मैंघरहूँ", "हाँ"]),  # so do vowel signs
        ("שָׁלוֹם سَلَام", ["שלוםسلام"]),  # and vowel points do not
        ("สวัสดี ครับ", ["สวัสดี", "ครับ"]),
        ("한국어", [unicodedata.normalize("NFD", "한국어")]),
        ("... !?", []),
        ("…👍 €", []),
        ("❤\ufe0f", []),  # a symbol with the picture that is meant
        ("1\ufe0f\u20e3 Hi. ☀\ufe0f!", ["1hi"]),
        ("葛\U000e0100城 a\u034fb", ["葛城ab"]),
        ("", []),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert sentences(unicodedata.normalize(form, text)) == expected


def test_what_is_the_same_exactly_is_nearly_the_same():
    draw = random.Random(1)
    for _ in range(20_000):
        text = "".join(draw.choice(TRICKY if draw.random() < 0.5 else EVERY) for _ in range(draw.randrange(12)))
        letters = "".join(sentences(text))
        assert "".join(sentences(folded(text))) == letters, ascii(text)
        assert folded(folded(text)) == folded(text), ascii(text)


def test_a_digest_is_blake2b_of_the_text_whatever_the_machine():
    assert digest("Le chat dort.").hex() == "f076dd7ecd03ecde"  # printf "Le chat dort." | b2sum -l 64
    assert digest("Le chat dort.", b"1") != digest("Le chat dort.", b"2")
