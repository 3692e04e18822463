import pytest
from pipeline.serving.markup import Mark
from pipeline.serving.projection import WORD, places, project


def put(text, translation, escape=str):
    """`text` with [ and ] for a pair of tags and * for a mark that stands alone, put into the translation."""
    plain, marks = "", []
    for character in text:
        if side := {"[": "open", "]": "close", "*": "alone"}.get(character):
            marks.append(Mark(len(plain), character, side, "" if character == "*" else "b"))
        else:
            plain += character
    return project(translation, places(plain, marks), len(WORD.findall(plain)), escape)


@pytest.mark.parametrize(
    ("text", "translation", "found"),
    [
        ("a b [c] d", "w x y z", "w x [y] z"),
        ("a [b c] d", "x y", "[x y]"),
        ("a b [c] d e f", "x y z", "x [y] z"),
        ("a [b], c", "x, y", "x, [y]"),
        ("a b[c]d e", "x y z", "x [y] z"),  # within a word: around it
        ("a [b] c", "", "[]"),
        ("a [b] c", "...", "...[]"),
        ("Hi *, you", "Salut, toi", "Salut *, toi"),
        ("Hi * you", "Salut toi", "Salut * toi"),
        ("a * b", "x", "* x"),
        ("a x*b c", "x y z", "x *y z"),
        ("le [chat] dort", "日本語", "日[本]語"),
    ],
)
def test_marks_keep_their_share_of_the_words(text, translation, found):
    assert put(text, translation) == found


def test_marks_never_change_their_order():
    for size in range(9):
        translation = " ".join(["w"] * size)
        found = put("a [b [c] * d] [e] f * g h", translation)
        assert "".join(character for character in found if character in "[]*") == "[[]*][]*"


def test_only_text_is_escaped():
    assert put("a [b] c", "< & >", lambda text: text.replace("<", "&lt;")) == "&lt; & >[]"
