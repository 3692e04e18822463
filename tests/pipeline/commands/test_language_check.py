"""A text that is plainly in another language than its corpus names."""

import pytest

from pipeline.commands.language_check import mismatch

TEXTS = {
    "de": "Das ist nicht der Hund, und ich mag die Katze.",
    "en": "The dog of the house and that cat are for you.",
    "nl": "Het is een hond, dat zijn ze niet, en ik zit op een stoel.",
    "ru": "Собака лает.",
    "uk": "Собака гавкає.",
    "ja": "犬が吠える。",
    "zh": "狗叫。",
}


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        *((text, code, None) for code, text in TEXTS.items()),
        (TEXTS["de"], "en", "reads like 'de'"),
        (TEXTS["en"], "de_AT", "reads like 'en'"),
        (TEXTS["en"], "ru", "is written in Latin letters"),
        (TEXTS["ru"], "fr", "is written in Cyrillic letters"),
        (TEXTS["zh"], "ja", "is written in Cjk letters"),
        (TEXTS["ru"], "uk", None),  # not plain
        (TEXTS["en"], "tlh", None),  # a language that nobody knows
        ("1 2 3", "ru", None),
        ("", "en", None),
    ],
)
def test_only_what_is_plain_is_named(text, language, found):
    assert mismatch([text], language) == found
