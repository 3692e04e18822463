"""Leakage by hand, side with side; the line split against one counted with Python sets."""

import random
import re

import pytest

from pipeline.data.contamination import Leakage, LineSplit
from pipeline.data.splits import Splitting, normalise
from pipeline.files import DataError
from pipeline.seeding import generator

TEST = [("Le chat dort.", "The cat sleeps."), ("Oui.", "Yes.")]
NEWS = [("Il pleut.", "It rains."), ("le chat dort.", "The cat is sleeping.")]
TRAIN = [
    ("LE CHAT  dort.", "A cat sleeps."),  # source of test and of news
    ("Si.", "yes."),  # target of test
    ("Il pleut.", "It  rains."),  # both sides of news
    ("Oui.", "It rains."),  # source of test, target of news
    ("Yes.", "Oui."),  # the wrong way round: no leakage
    ("Le chien dort.", "The dog sleeps."),
]


def leakage(policy):
    return Leakage(Splitting(carve_by="source", validation_share=0.0, test_share=0.0, leakage=policy, seed=1))


def test_pairs_that_share_a_side_are_dropped_and_counted():
    found = leakage("drop")
    assert list(found.decontaminate("train", TRAIN, {"test": TEST, "news": NEWS})) == TRAIN[4:]
    assert found.overlaps == {
        "train/test": {"source": 2, "target": 1, "dropped": 3},
        "train/news": {"source": 2, "target": 2, "dropped": 3},
    }
    assert found.dropped == {"train": 4}


@pytest.mark.parametrize("policy", ["report", "fail"])
def test_reporting_counts_and_drops_nothing(policy):
    found = leakage(policy)
    assert list(found.decontaminate("train", TRAIN, {"test": TEST})) == TRAIN
    assert found.overlaps == {"train/test": {"source": 2, "target": 1, "dropped": 0}}
    assert found.dropped == {"train": 0}


def test_failing_says_how_much_leaks():
    found = leakage("fail")
    list(found.decontaminate("validation", [("Non.", "No.")], {"test": TEST}))
    found.check({"validation": 1}, "toy")
    list(found.decontaminate("train", TRAIN, {"test": TEST, "news": NEWS}))
    message = (
        "toy: parts share sentences, got train/test 2 sources and 1 targets, train/news 2 sources and 2 targets; "
        "expected none"
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        found.check({"validation": 1, "train": 6}, "toy")


def test_a_part_that_decontamination_empties():
    found = leakage("drop")
    list(found.decontaminate("validation", TRAIN[:3], {"test": TEST, "news": NEWS}))
    message = "toy: no pair is left in validation, got 3 dropped for leakage; expected at least one"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        found.check({"validation": 0}, "toy")


def brute_force(pairs, drawn):
    rest = [pair for line, pair in enumerate(pairs) if line not in drawn]
    sources, targets = {normalise(source) for source, _ in rest}, {normalise(target) for _, target in rest}
    return sum(normalise(pairs[line][0]) in sources or normalise(pairs[line][1]) in targets for line in drawn)


@pytest.mark.parametrize("seed", random.sample(range(10**6), 3))
def test_the_line_split_counts_what_sets_count(seed):
    draw = random.Random(seed)
    pairs = [(f"Phrase {draw.randrange(400)}", f"Sentence {draw.randrange(400)}") for _ in range(600)]
    lines = LineSplit(seed)
    assert list(lines.watch(pairs)) == pairs
    drawn = set(generator(seed, "line_split").choice(600, 100, replace=False).tolist())
    seen = brute_force(pairs, drawn)
    assert 0 < seen < 100
    assert lines.measure(100) == {"held_out": 100, "seen": seen, "share": seen / 100}


def test_a_line_split_of_sentences_that_all_differ_leaks_nothing():
    lines = LineSplit(1)
    list(lines.watch((f"Phrase {number}", f"Sentence {number}") for number in range(50)))
    assert lines.measure(10) == {"held_out": 10, "seen": 0, "share": 0.0}
