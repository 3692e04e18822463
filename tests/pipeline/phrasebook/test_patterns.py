"""The list of patterns: how one enters it, and that none is lost or idle."""

import inspect
from random import Random

import pytest

from pipeline.phrasebook import patterns
from pipeline.phrasebook.draw import Draw
from pipeline.phrasebook.patterns import PATTERNS
from pipeline.phrasebook.phrases import Pair
from pipeline.phrasebook.sentences import TOPICS


def test_a_pattern_enters_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "PATTERNS", {})

    def greeting(_: Draw) -> Pair:
        return Pair("bonjour.", "hello.")

    assert patterns.pattern(greeting) is greeting
    assert list(patterns.PATTERNS.items()) == [("greeting", greeting)]


def test_there_are_many_and_no_two_share_a_name() -> None:
    assert len(PATTERNS) >= 25
    assert len(set(PATTERNS.values())) == len(PATTERNS)
    marked = [inspect.getsource(topic).count("\n@pattern\n") for topic in TOPICS]
    entered = [sum(write.__module__ == topic.__name__ for write in PATTERNS.values()) for topic in TOPICS]
    assert entered == marked
    assert sum(entered) == len(PATTERNS)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_draws_its_words_and_ends_in_a_mark(name: str) -> None:
    draw = Draw(Random(0))
    pair = PATTERNS[name](draw)
    assert draw.words
    assert pair.french[-1] == pair.english[-1]
    assert pair.english[-1] in ".?!"
    assert PATTERNS[name](Draw(Random(0))) == pair
