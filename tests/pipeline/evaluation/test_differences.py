"""Differences of two sentences, by hand and beside difflib and the script of the page."""

import difflib

import numpy as np
import pytest

from pipeline.evaluation.differences import MOVED, ONLY, SAME, Run, common, compare


def kinds(first, second):
    found = compare(first.split(), second.split())
    return ["".join({SAME: "s", MOVED: "m", ONLY: "o"}[kind] for kind in side) for side in found]


@pytest.mark.parametrize(
    ("first", "second", "marks"),
    [
        ("the cat sleeps", "the cat sleeps", ["sss", "sss"]),
        ("the cat sleeps", "the dog sleeps", ["sos", "sos"]),
        ("the cat sleeps", "the black cat sleeps", ["sss", "soss"]),
        ("today he sleeps", "he sleeps today", ["mss", "ssm"]),
        ("a b", "b a", ["ms", "sm"]),
        ("x x a", "a x", ["mos", "sm"]),  # one of two x has moved, the other is missing
        ("", "a b", ["", "oo"]),
        ("a", "", ["o", ""]),
        ("", "", ["", ""]),
    ],
)
def test_words_are_the_same_moved_or_of_one_sentence_only(first, second, marks):
    assert kinds(first, second) == marks


def test_distance_is_the_share_of_words_that_are_not_the_same():
    assert compare([], []).distance == 0
    assert compare(["a", "b"], ["a", "b"]).distance == 0
    assert compare(["a", "b"], ["c"]).distance == 1
    assert compare(["a", "b", "c"], ["a"]).distance == pytest.approx(0.5)
    assert compare(["a", "b"], ["b", "a"]).distance == 0.5


def test_runs_merge_both_sentences_in_order():
    found = compare([*"abcde"], [*"axydze"])
    assert found.runs == [
        Run(SAME, 0, [0]),
        Run(ONLY, 0, [1, 2]),
        Run(ONLY, 1, [1, 2]),
        Run(SAME, 0, [3]),
        Run(ONLY, 1, [4]),
        Run(SAME, 0, [4]),
    ]


def sentences(number, seed):
    draw = np.random.default_rng(seed)
    return [list(draw.choice(list("abcdef"), size=int(draw.integers(0, 9)))) for _ in range(number)]


def test_the_common_part_is_in_both_and_no_shorter_than_difflib_finds():
    for first, second in zip(sentences(200, 1), sentences(200, 2), strict=True):
        pairs = common(first, second)
        assert all(first[row] == second[column] for row, column in pairs)
        assert pairs == sorted(pairs)
        assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
        blocks = difflib.SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
        assert len(pairs) >= sum(block.size for block in blocks)


def test_every_word_stands_once_in_the_runs():
    for first, second in zip(sentences(100, 3), sentences(100, 4), strict=True):
        found = compare(first, second)
        for side, sentence in enumerate((first, second)):
            shown = [
                place for run in found.runs for place in run.words if run.side == side or (side and run.kind == SAME)
            ]
            assert len(shown) == len(sentence)
        assert sum(found.first.count(kind) for kind in (SAME, MOVED)) == sum(
            found.second.count(kind) for kind in (SAME, MOVED)
        )
