"""What is found in the translations of a part."""

import pytest
from sacrebleu.metrics.chrf import CHRF

from pipeline.evaluation import analysis
from pipeline.evaluation.analysis import Lengths, Order
from pipeline.evaluation.words import tokenizer

REFERENCES = ["He has a car.", "Today he sleeps.", "Yes.", "I see."]
GIVEN = ["He has car.", "He sleeps today.", "Yes.", "I see you there."]


@pytest.fixture
def found():
    words, analyses = analysis.of_parts(
        {"test": REFERENCES},
        {"test": {"one": GIVEN}},
        ["He has a car.", "He sleeps."],
        tokenizer("13a"),
        num_ngrams=1,
        frequency_buckets=[0],
    )
    assert words["test"][0] == ["He", "has", "a", "car", "."]
    return analyses["test"]["one"]


def test_lengths_are_in_words(found):
    assert found.lengths == Lengths(given=4 + 4 + 2 + 5, expected=5 + 4 + 2 + 3, shorter=1, longer=1)
    assert found.lengths.ratio == pytest.approx(15 / 14)
    assert analysis.lengths([["a"]], [[]]).ratio == 0.0


def test_words_are_in_place_moved_missing_or_extra(found):
    # a is missing; Today and today differ by case; you there are extra
    assert found.order == Order(same=4 + 2 + 2 + 3, moved=0, missing=1 + 2, extra=2 + 2)
    moved = analysis.of_parts(
        {"test": ["a b c"]}, {"test": {"one": ["c a b"]}}, [], str.split, num_ngrams=0, frequency_buckets=[0]
    )[1]["test"]["one"]
    assert moved.order == Order(same=2, moved=1, missing=0, extra=0)


def test_words_are_counted_in_the_training_part(found):
    assert [(bucket.name, bucket.expected, bucket.matched) for bucket in found.frequencies] == [
        ("0", 5, 3),  # Today he Yes I see, of which Yes I see
        ("1+", 9, 8),  # He has a car . and sleeps . and . and .
    ]


def test_chrf_is_that_of_each_sentence(found):
    assert found.chrf == [round(CHRF().sentence_score(g, [r]).score, 1) for g, r in zip(GIVEN, REFERENCES, strict=True)]
    assert found.chrf[2] == 100.0


def test_extremes_are_the_worst_and_the_best_that_differ(found):
    assert found.differing == [0, 1, 3]
    order = sorted(found.differing, key=lambda line: found.chrf[line])
    assert found.extremes(1) == (order[:1], order[:0:-1][:1])
    assert found.extremes(9) == (order, [])
    assert found.extremes(0) == ([], [])
    assert set(found.extremes(2)[0]).isdisjoint(found.extremes(2)[1])


def test_of_equal_sentences_the_first_come_first(found):
    same = found._replace(chrf=[50.0] * 4)
    assert same.extremes(1) == ([0], [1])
