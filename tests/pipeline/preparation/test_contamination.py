"""Leakage by hand, side with side; the line split against one counted with Python sets."""

import random
import re
import unicodedata

import pytest

from pipeline.files import DataError
from pipeline.preparation.comparison import folded
from pipeline.preparation.contamination import NOWHERE, Known, Leakage, LineSplit, Overlap
from pipeline.preparation.splits import Splitting
from pipeline.seeding import generator
from tests.toys import seeds

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


def leakage(policy, near="drop"):
    shares = {"validation_share": 0.0, "test_share": 0.0}
    return Leakage(Splitting(carve_by="source", **shares, leakage=policy, near_leakage=near, seed=1))


def overlap(exact_source, exact_target, near_source, near_target, dropped):
    counts = (exact_source, exact_target, near_source, near_target, dropped)
    return dict(zip(Overlap.__annotations__, counts, strict=True))


def test_pairs_that_share_a_side_are_dropped_and_counted():
    found = leakage("drop")
    assert list(found.decontaminate("train", TRAIN, {"test": TEST, "news": NEWS})) == TRAIN[4:]
    assert found.overlaps == {
        "train/test": overlap(2, 1, 0, 0, 3),
        "train/news": overlap(2, 2, 0, 0, 3),
    }
    assert found.dropped == {"train": {"exact": 4, "near": 0}}


@pytest.mark.parametrize("policy", ["report", "fail"])
def test_reporting_counts_and_drops_nothing(policy):
    found = leakage(policy)
    assert list(found.decontaminate("train", TRAIN, {"test": TEST})) == TRAIN
    assert found.overlaps == {"train/test": overlap(2, 1, 0, 0, 0)}
    assert found.dropped == {"train": {"exact": 0, "near": 0}}


def test_failing_says_how_much_leaks():
    found = leakage("fail")
    list(found.decontaminate("validation", [("Non.", "No.")], {"test": TEST}))
    found.check({"validation": 1}, "toy")
    list(found.decontaminate("train", TRAIN, {"test": TEST, "news": NEWS}))
    message = (
        "toy: parts share sentences, got train/test 2 sources and 1 targets (exact), "
        "train/news 2 sources and 2 targets (exact); expected none"
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        found.check({"validation": 1, "train": 6}, "toy")


def test_a_part_that_decontamination_empties():
    found = leakage("drop")
    list(found.decontaminate("validation", TRAIN[:3], {"test": TEST, "news": NEWS}))
    message = "toy: no pair is left in validation, got 3 dropped for leakage; expected at least one"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        found.check({"validation": 0}, "toy")


HELD_OUT = [
    ("Où est la gare ?", "Where is the station?"),
    ("Oui. Merci !", "Yes. Thanks!"),
    ("...", "!!"),
    ("你好。", "Hello there."),
    ("สวัสดี ครับ", "Good day."),
]
NEAR = [
    ("Ou est la gare?", "Where's the stop?"),  # no accent, no space
    ("OÙ EST LA GARE\u202f!", "Where might it be?"),  # another mark
    ("O\u00adù est la\u200bgare", "Where could it be?"),  # invisible ones
    ("Pardon, Léa. Où est la gare ? Je suis perdu.", "I am lost."),  # among others
    ("Elle dit : « où est la gare »", "She says it."),  # quoted
    ("Bon. Oui ; merci. Au revoir.", "Bye."),  # two sentences of three
    ("他说：“你好！”", "He says it."),
    ("ครับ สวัสดี ครับ", "Thai ends a sentence by a space."),
    ("Bonjour.", "good-day"),
    ("Salut !", "Well... hello there! You?"),
]
FAR = [
    ("Où est la gare du Nord ?", "In the middle of a sentence: no."),
    ("Oui.", "Yes, thank you."),
    ("Je sais où est la gare.", "The words where is the station stand in it."),
    ("Bon. Merci. Oui.", "Another order."),
    ("?!", "No letters, and not the same."),
    ("你好吗。", "A longer word."),
    ("Hello there.", "你好。"),  # the wrong way round
]


def test_near_twins_and_sentences_among_others():
    found = leakage("drop")
    assert list(found.decontaminate("train", [*NEAR, *FAR], {"test": HELD_OUT})) == FAR
    assert found.overlaps == {"train/test": overlap(0, 0, 8, 2, 10)}
    assert found.dropped == {"train": {"exact": 0, "near": 10}}


def test_texts_without_a_letter_are_the_same_only_exactly():
    found = leakage("drop")
    assert list(found.decontaminate("train", [("...", "Dots."), ("…", "Dots."), ("!", "!!")], {"test": HELD_OUT})) == []
    assert found.overlaps == {"train/test": overlap(2, 1, 0, 0, 3)}  # … is three dots to NFKC
    found = leakage("drop")
    assert len(list(found.decontaminate("train", [("..", "Dots."), ("?", "!!!")], {"test": HELD_OUT}))) == 2


def test_missing_sentences_are_no_leak():
    known = Known({"test": [("", "a b c")]}, side=0)
    assert known.find("") == NOWHERE


def test_a_pair_that_leaks_in_both_ways_is_dropped_once():
    pairs = [("où est la gare ?", "WHERE IS THE STATION"), ("Ou est la gare ?", "Il pleut.")]
    held_out = {"test": HELD_OUT, "news": [("ou est la gare ?", "x"), ("Ou est la gare", "y")]}
    for exact, near, test, news, dropped, left in (
        ("drop", "drop", overlap(1, 0, 1, 1, 2), overlap(1, 0, 1, 0, 2), {"exact": 2, "near": 0}, 0),
        ("report", "drop", overlap(1, 0, 1, 1, 2), overlap(1, 0, 1, 0, 1), {"exact": 0, "near": 2}, 0),
        ("drop", "report", overlap(1, 0, 1, 1, 1), overlap(1, 0, 1, 0, 1), {"exact": 2, "near": 0}, 0),
        ("report", "report", overlap(1, 0, 1, 1, 0), overlap(1, 0, 1, 0, 0), {"exact": 0, "near": 0}, 2),
    ):
        found = leakage(exact, near)
        assert len(list(found.decontaminate("train", pairs, held_out))) == left
        assert found.overlaps == {"train/test": test, "train/news": news}, (exact, near)
        assert found.dropped == {"train": dropped}


def test_failing_for_what_is_near():
    found = leakage("drop", "fail")
    left = list(found.decontaminate("train", [*TRAIN, *NEAR], {"test": [*TEST, *HELD_OUT]}))
    message = "toy: parts share sentences, got train/test 8 sources and 2 targets (near); expected none"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        found.check({"train": len(left)}, "toy")


def letters(text):
    """What `near` compares, written the slow way, for Latin letters."""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(one for one in apart if one.isalnum())


def is_near(text, held_out):
    """Whether some sentences of a text in a row, all of them among others, are a held-out text."""
    bits = [letters(bit) for bit in re.split(r"[.?!:]", text)]
    runs = {"".join(bits[a:b]) for a in range(len(bits)) for b in range(a + 1, len(bits) + 1)} - {""}
    return any(letters(one) in runs for one in held_out)


@pytest.mark.parametrize("seed", seeds.fresh(3))
def test_no_twin_is_left_and_none_but_twins_are_dropped(seed):
    draw = random.Random(seed)

    def text():
        words = [
            draw.choice(["où", "OU", "là", "la", "été", "e\u0301te", "ﬁn", "fin", "À", "1", "¹"]) for _ in range(4)
        ]
        return "".join(word + draw.choice(["", " ", ". ", " ?", "! ", "\u202f: ", "’", "-"]) for word in words)

    held_out, pairs = [(text(), text()) for _ in range(30)], [(text(), text()) for _ in range(600)]
    found = leakage("drop")
    left = list(found.decontaminate("train", pairs, {"test": held_out}))
    sides = [{side for side, _ in held_out}, {side for _, side in held_out}]
    expected = [pair for pair in pairs if not any(map(is_near, pair, sides))]
    assert left == expected
    assert 0 < len(left) < 600


def brute_force(pairs, drawn):
    rest = [pair for line, pair in enumerate(pairs) if line not in drawn]
    sources, targets = {folded(source) for source, _ in rest}, {folded(target) for _, target in rest}
    return sum(folded(pairs[line][0]) in sources or folded(pairs[line][1]) in targets for line in drawn)


@pytest.mark.parametrize("seed", seeds.fresh(3))
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


def test_symbols_alone_are_near_to_nothing():
    held_out = {"test": [("\u2764\ufe0f", "1\ufe0f\u20e3")]}
    pairs = [("\u2600\ufe0f", "2\ufe0f\u20e3"), ("Salut. \u2600\ufe0f", "Hi. \u2600\ufe0f")]
    found = leakage("drop")
    assert list(found.decontaminate("train", pairs, held_out)) == pairs
