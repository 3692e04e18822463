"""Leakage by hand, side with side, and against a plain double loop."""

import random
import unicodedata

import pytest

from pipeline.preparation.comparison import folded, sentences
from pipeline.preparation.contamination import COUNTS, HeldOut, Leaks
from pipeline.preparation.splits import Splitting

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


def decontaminated(pairs, held_out, policy="drop", near="drop"):
    """The pairs that are left, and the counts."""
    shares = {"validation_share": 0.0, "test_share": 0.0}
    splitting = Splitting(carve_from=[], **shares, leakage=policy, near_leakage=near, seed=1)
    leaks = Leaks(splitting, held_out)
    return list(leaks.decontaminate(pairs, HeldOut(held_out))), leaks


def overlap(exact_source, exact_target, near_source, near_target, dropped):
    counts = (exact_source, exact_target, near_source, near_target, dropped)
    return dict(zip(COUNTS, counts, strict=True))


def test_pairs_that_share_a_side_are_dropped_and_counted():
    left, leaks = decontaminated(TRAIN, {"test": TEST, "news": NEWS})
    assert left == TRAIN[4:]
    assert leaks.overlaps == {"test": overlap(2, 1, 0, 0, 3), "news": overlap(2, 2, 0, 0, 3)}
    assert leaks.dropped == {"exact": 4, "near": 0}


@pytest.mark.parametrize("policy", ["report", "fail"])
def test_reporting_counts_and_drops_nothing(policy):
    left, leaks = decontaminated(TRAIN, {"test": TEST}, policy)
    assert left == TRAIN
    assert leaks.overlaps == {"test": overlap(2, 1, 0, 0, 0)}
    assert leaks.dropped == {"exact": 0, "near": 0}


HELD_OUT = [("Où est la gare ?", "Where is the station?"), ("Oui. Merci !", "Yes. Thanks!"), ("...", "!!")]
HELD_OUT += [("你好。", "Hello there."), ("สวัสดี ครับ", "Good day."), ("\u2764\ufe0f", "1\ufe0f\u20e3")]


@pytest.mark.parametrize(
    "source",
    [
        "Ou est la gare?",  # no accent, no space
        "O\u00adÙ est la\u200bgare\u202f!",  # invisible characters
        unicodedata.normalize("NFD", "Où est la gare"),
        "Pardon, Léa. Où est la gare ? Je suis perdu.",  # among others
        "Bon. Oui. Merci !",  # two in a row
        "我说：你好！",
        "สวัสดีครับ",
    ],
)
def test_near_leaks(source):
    left, leaks = decontaminated([(source, "Something else.")], {"test": HELD_OUT}, "fail", "drop")
    assert left == []
    assert leaks.overlaps == {"test": overlap(0, 0, 1, 0, 1)}
    assert leaks.dropped == {"exact": 0, "near": 1}


@pytest.mark.parametrize(
    "source",
    [
        "Dis-moi où est la gare ?",  # words in the middle of a sentence
        "Merci ! Oui.",  # the other order
        "Où est la garenne ?",
        "!? …",  # no letters
        "Salut. \u2600\ufe0f",  # another symbol
        "สวัสดี",
    ],
)
def test_what_does_not_leak(source):
    pair = (source, "Something else.")
    assert decontaminated([pair], {"test": HELD_OUT})[0] == [pair]


def leaks_into(text, known):
    """Whether a held-out text is one or several whole sentences of `text`, tried one by one."""
    compared = sentences(text)
    runs = {"".join(compared[a:b]) for a in range(len(compared)) for b in range(a + 1, len(compared) + 1)}
    return any(folded(text) == folded(other) or "".join(sentences(other)) in runs for other in known)


def test_agrees_with_a_plain_double_loop():
    draw = random.Random(1)

    def text():
        return " ".join(draw.choice(["Oui", "NON", "été", "gare", "là"]) + draw.choice([".", "", "!"]) for _ in "abc")

    held_out, pairs = ([(text(), text()) for _ in range(number)] for number in (15, 400))
    known = list(zip(*held_out, strict=True))
    expected = [pair for pair in pairs if not any(map(leaks_into, pair, known))]
    assert decontaminated(pairs, {"test": held_out})[0] == expected
    assert 0 < len(expected) < 400
