"""Tags and placeholders come back once each, where the words went that they stood beside."""

import random
import re

import numpy as np
import pytest

from pipeline.decoding.glossary import Glossary
from pipeline.decoding.markup import WORD, aligned, restore, separate
from pipeline.vocabularies.vocabulary import Vocabulary
from tests.pipeline.decoding.test_texts import VOCABULARY, Letters

LEXICON = {"The": "Le", "black": "noir", "cat": "chat", "sleeps": "dort", "here": "ici", "Hello": "Bonjour"}
TAG = re.compile(r"<(/?)(\w+)[^>]*>")


def weights(text, plain):
    """Each word comes from its translation, any other from all of the source alike."""
    rows = np.ones((len(WORD.findall(text)), len(plain)))
    for row, word in zip(rows, WORD.findall(text), strict=True):
        if (begin := plain.find(LEXICON.get(word, word))) >= 0:
            row[:] = 0
            row[begin : begin + len(LEXICON.get(word, word))] = 1
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("line", "plain", "expected"),
    [
        ("Le chat <b>noir</b> dort.", "Le chat noir dort.", "The <b>black</b> cat sleeps."),
        ("Le <b>chat noir</b> dort.", "Le chat noir dort.", "The <b>black cat</b> sleeps."),
        ("<p>Le <i>chat <b>noir</b></i> dort.</p>", "Le chat noir dort.", "<p>The <i><b>black</b> cat</i> sleeps.</p>"),
        ("Le chat <b> noir </b> dort.", "Le chat noir dort.", "The <b> black </b> cat sleeps."),
        ('Le <g id="1">chat</g> dort <x id="2"/>.', "Le chat dort.", 'The <g id="1">cat</g> sleeps <x id="2"/>.'),
        ("<b>{name}</b> dort.", "dort.", "<b>{name}</b> sleeps."),
        ("Bonjour {name}, ici!", "Bonjour, ici!", "Hello {name}, here!"),
        ("{a}{b}: dort.", "dort.", "{a}{b}: sleeps."),
        ("Le chat.%sBonjour.", "Le chat.Bonjour.", "The cat.%sHello."),
        ("Le <b>chat", "Le chat", "The <b>cat"),
        ("Le <x> chat dort.", "Le chat dort.", "The <x> cat sleeps."),
        ("</i>Le chat<br> dort.", "Le chat dort.", "</i>The cat<br> sleeps."),
        ("Le chat <3 ici.", "Le chat ici.", "The cat <3 here."),
        ("Le chat 👨‍👩‍👧 ici", "Le chat ici", "The cat 👨‍👩‍👧 here"),
        ("Bonjour %(n)d %1$s 東京", "Bonjour", "Hello %(n)d %1$s 東京"),
    ],
)
def test_marks_stand_where_their_words_went(line, plain, expected):
    read, marks = separate(line, VOCABULARY)
    assert " ".join(read.split()) == plain
    text = TAG.sub("", expected)
    for mark in ("{name}", "{a}{b}:", "%s", "<3", "👨‍👩‍👧", "%(n)d %1$s 東京"):
        text = text.replace(mark, "" if mark == "%s" else " ")
    text = " ".join(text.split()).replace(" ,", ",").replace(" .", ".")
    assert restore(text, marks, weights(text, plain)) == expected


def test_a_term_stands_in_place_of_its_translation_inside_tags_and_beside_them(tmp_path):
    (tmp_path / "terms.tsv").write_text("chat noir\tpanther\nici\ton site\n")
    line, text = "Le <b>chat noir</b> {x} dort ici.", "The black cat sleeps here."
    plain, marks = separate(line, VOCABULARY, Glossary(tmp_path / "terms.tsv"))
    assert plain == "Le chat noir dort ici."
    assert restore(text, marks, weights(text, plain)) == "The <b>panther</b> {x} sleeps on site."
    assert restore("Black", marks[:1], weights("Black", plain)) == "<b>Panther</b>"
    assert restore("", marks, None) == "<b>panther</b>{x}on site"
    nothing = np.arange(2)[:, None] * np.ones(len(plain))  # no word, but the full stop
    assert restore("Sleeps.", marks[0].inside, nothing) == "Sleeps panther."


@pytest.mark.parametrize("line", ["a < b", "50% de 100 %", "l'un & l'autre", "le {chat noir}", "5>3"])
def test_what_is_no_mark_is_read(line):
    letters = Letters()
    letters.spells_all = True
    assert separate(line, Vocabulary(letters, letters)) == (line, [])


@pytest.mark.parametrize("has_attention", [True, False])
def test_none_is_lost_doubled_or_crossed(has_attention):
    draw = random.Random(1)
    for _ in range(300):
        words = draw.choices(["un", "chat", "noir", "dort", "ici"], k=draw.randrange(1, 8))
        for number in range(draw.randrange(5)):
            begin = draw.randrange(len(words))
            end = draw.randrange(begin, len(words))
            if not any("<" in word for word in words[begin : end + 1]) or (begin, end) == (0, len(words) - 1):
                words[begin] = f"<t{number}>{words[begin]}"
                words[end] += f"</t{number}>"
            words.insert(draw.randrange(len(words) + 1), f"{{n{number}}}")
        line, text = " ".join(words), " ".join(draw.choices(["a", "cat", "sleeps", "."], k=draw.randrange(7)))
        plain, marks = separate(line, VOCABULARY)
        rows = np.random.default_rng(1).random((len(WORD.findall(text)), len(" ".join(plain.split())))) ** 4
        result = restore(text, marks, rows / rows.sum(axis=1, keepdims=True) if has_attention else None)
        found = re.compile(r"<[^>]*>|\{\w+\}")
        assert sorted(found.findall(result)) == sorted(found.findall(line))
        assert found.sub(" ", result).split() == text.split()
        opened = []
        for closing, name in TAG.findall(result):
            assert not closing or opened.pop() == name
            opened += [] if closing else [name]


def test_pieces_are_spread_over_words_and_characters():
    """Two pieces of a word, the end of the sentence counted with the last piece; near places weigh more."""
    heads = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]])
    rows = aligned("abcd", heads, [2, 4], [1, 4])
    expected = np.array([0.25, 0.25, 0.75, 0.75]) / 2
    assert aligned("abcd", heads, [2, 4], [5, 4]).shape == (1, 4)  # a character in two bytes
    near = np.exp(-4 * np.abs(0.5 - np.array([1, 3, 5, 7]) / 8))
    np.testing.assert_allclose(rows[0], expected * near / (expected * near).sum(), rtol=1e-6)
