"""Normalisation: by hand, and on strings of whatever Unicode has."""

import random
import sys
import unicodedata

import pytest

from pipeline.common.normalisation import normalised, num_words

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"  # Scotland's
JOINERS = "\u200c\u200d"
SEEN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
PLACING = "\u180e" + "".join(map(chr, [*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4)]))
EVERY = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
# Whatever meets badly: accents, Hangul in pieces, format characters, flags, white space, marks that change places.
TRICKY = [
    *"e\u0301\u0323\u0345\u200b\u00ad\ufeff\u200d\u1100\u1161\u11a8\uac00 \u202f\u2028\t\u0340\u2000",
    *FLAG,
    "か\u3099",
]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("e\u0301te\u0301", "été"),
        ("  deux\t mots\u00a0!\u2028", "deux mots !"),
        ("un\x0bdeux\x0ctrois\r", "un deux trois"),
        ("\ufeffOui", "Oui"),
        ("gare\u202f?", "gare ?"),
        ("ﬁn Ａ", "ﬁn Ａ"),
        ("e\u200b\u0301te\u00ad\u0301", "été"),
        ("ex\u00adtra\u200bor\u2060di\u200enaire", "extraordinaire"),
        ("un \u200b deux", "un deux"),
        ("\u200b\ufeff", ""),
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),
        ("\u0601\u0661\u0662", "\u0601\u0661\u0662"),
        (f"a{FLAG}\U000e0067b", f"a{FLAG}b"),
        ("\U0001f3f4\U000e0067\U000e0062", "\U0001f3f4"),
        ("\U0001f3f4\u200b" + FLAG[1:], "\U0001f3f4"),
        ("", ""),
    ],
)
def test_by_hand(raw, expected):
    assert normalised(raw) == expected
    assert normalised(expected) == expected


def test_of_all_format_characters_only_those_stay_that_are_seen_or_needed():
    found = {one for one in EVERY if unicodedata.category(one) == "Cf" and normalised(one)}
    known = {one for one in JOINERS + SEEN + PLACING if unicodedata.category(one) == "Cf"}  # to this Python's Unicode
    assert found == known


def test_nothing_else_is_dropped_but_white_space():
    dropped = [one for one in EVERY if not normalised(one) and unicodedata.category(one) != "Cf"]
    assert all(one.isspace() or "\ufdd0" <= one <= "\ufdef" for one in dropped)  # or a noncharacter


def test_equivalent_strings_come_out_the_same_and_stay_as_they_are():
    draw = random.Random(1)
    for _ in range(20_000):
        text = "".join(draw.choice(TRICKY if draw.random() < 0.8 else EVERY) for _ in range(draw.randrange(12)))
        found = normalised(text)
        assert normalised(found) == found, ascii(text)
        assert unicodedata.is_normalized("NFC", found), ascii(text)
        for form in ("NFC", "NFD"):
            assert normalised(unicodedata.normalize(form, text)) == found, ascii(text)
        hidden = "".join(one + draw.choice(["", "\u200b", "\u00ad"]) for one in text if one not in FLAG)
        assert normalised(hidden) == normalised("".join(one for one in text if one not in FLAG)), ascii(hidden)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *(("", 0), ("a black cat", 3), ("un chat à côté", 4), ("고양이가 집에서 잔다.", 3), ("猫", 1)),
        *(("一只黑猫在房子里睡觉。", 5), ("黒い猫が家で寝ている。", 5), ("แมวดำนอนหลับอยู่ในบ้าน", 11)),
    ],
)
def test_words_are_counted_in_scripts_without_spaces_too(text, words):
    assert num_words(text) == words
