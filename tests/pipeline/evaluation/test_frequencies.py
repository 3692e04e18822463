"""Words by their count in the training part."""

import random
from collections import Counter

import pytest

from pipeline.evaluation import frequencies
from pipeline.evaluation.frequencies import Bucket
from pipeline.evaluation.words import tokenizer

LETTERS = "aB1.,-'\"é你 ;%&$()  "
SEEN = {"the": 50, "cat": 3, "dog": 10}


def test_words_of_the_training_part_are_counted():
    lines = ["The cat, the dog.", "the cat"]
    assert frequencies.in_training(lines, {"the", "cat", ",", "bird"}, tokenizer("13a")) == {"the": 2, "cat": 2, ",": 1}


@pytest.mark.parametrize("name", ["13a", "intl", "char", "zh", "none"])
def test_a_text_between_white_space_has_the_words_that_it_has_in_its_line(name):
    """What makes counting quick, tried on random lines of all that a tokenizer may look at."""
    draw, tokenize = random.Random(1), tokenizer(name)
    for _ in range(300):
        line = f"x {''.join(draw.choices(LETTERS, k=20))} x"
        words = tokenize(line)
        assert frequencies.in_training([line], set(words), tokenize) == Counter(words), line


def test_f1_of_each_bucket():
    references = [["the", "cat", "sees", "the", "dog"], ["dog"]]
    hypotheses = [["the", "the", "the", "cat"], ["cat"]]
    found = frequencies.buckets(hypotheses, references, SEEN, [0, 9, 49])
    assert found == [
        Bucket("0", 1, 0, 0),  # sees
        Bucket("1-9", 1, 2, 1),  # cat
        Bucket("10-49", 2, 0, 0),  # dog
        Bucket("50+", 2, 3, 2),  # the
    ]
    assert [bucket.f1 for bucket in found] == [0.0, pytest.approx(2 / 3), 0.0, 0.8]


def test_no_word_no_f1():
    [never, once] = frequencies.buckets([["a"]], [["a"]], {"a": 1}, [0])
    assert (never.f1, once.f1) == (None, 1.0)


def test_buckets_are_named_by_their_bounds():
    assert frequencies.names([0, 1, 4, 99]) == ["0", "1", "2-4", "5-99", "100+"]
    assert frequencies.names([5]) == ["0-5", "6+"]
