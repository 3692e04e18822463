import random

import pytest
import sentencex
from pipeline.serving.sentences import WINDOW, boundaries

from pipeline.serving import sentences


def cut(text, language):
    ends = boundaries(text, language)
    return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("language", "found"),
    [
        ("fr", ["M. Dupont et Mme. Petit sont là. ", "J. Martin et J.-C. Roux aussi. ", "Oui !"]),
        ("fr-CA", ["Le Dr. Petit, p. ex., arrive. ", "Où est la gare ?"]),
        ("de", ["Am 3. Mai kam Dr. Meier. ", "Er sagte: „Komm!“ ", "Dann ging er."]),
        ("en", ["Mr. Smith met J. K. Rowling at 5 p.m. on Main St. in the U.S. ", "He left. ", "It costs 3.5 euros."]),
        ("xx", ["Aaa bbb. ", "Ccc ddd."]),
    ],
)
def test_sentences_of_languages(language, found):
    assert cut("".join(found), language) == found


def test_boundaries_rise_to_the_end():
    for seed in range(200):
        draw = random.Random(seed)
        text = "".join(draw.choices("aB .!?\n\u00a0\u2028«»\"'(日。é", k=draw.randrange(200)))
        for language in ("en", "fr", ""):
            ends = boundaries(text, language)
            assert ends == sorted(set(ends))
            assert ends[-1:] == ([len(text)] if text else [])


def test_a_long_paragraph_is_cut_as_a_short_one():
    """Windows leave no trace, unless a sentence is longer than half of one."""
    one = "The black cat sat on the mat, and slept. "
    assert cut(one * 300, "en") == [one] * 300
    long = cut("word " * 1000, "en")
    assert "".join(long) == "word " * 1000
    assert max(map(len, long)) <= WINDOW
    assert all(part.endswith(" ") for part in long)


def test_a_panic_leaves_one_sentence(monkeypatch):
    class PanicException(BaseException):
        pass

    def panic(language, text):
        raise PanicException

    monkeypatch.setattr(sentencex, "segment", panic)
    assert boundaries("A cat. A dog.", "en") == [13]
    monkeypatch.setattr(sentencex, "segment", lambda language, text: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sentences.segments("A cat.", "en")
