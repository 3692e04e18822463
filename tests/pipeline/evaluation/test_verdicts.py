"""Who won, in words."""

from dataclasses import replace

import pytest

from pipeline.evaluation import verdicts
from pipeline.evaluation.significance import Comparison, Standing


@pytest.fixture
def corpus(make_corpus, make_system):
    """A corpus of systems a, b, ... with these scores and, but for the best, these p."""

    def make(scores, chances=None, **changes):
        systems = [make_system(name, score, **changes) for name, score in zip("abcd", scores, strict=False)]
        if chances is None:
            return make_corpus(systems=systems, comparisons={})
        best = max(systems, key=lambda system: system.scores["test"]["bleu"])
        others = iter(chances)
        standings = {s.name: Standing(50.0, 1.0, None if s is best else next(others, None)) for s in systems}
        return make_corpus(systems=systems, comparisons={"test": Comparison(standings, "bs")})

    return make


def said(corpus):
    found = verdicts.verdict(corpus, "test")
    return f"{found.claim}: {found.reason}"


@pytest.mark.parametrize(
    ("scores", "chances", "sentence"),
    [
        ([97.31, 95.73, 70.0], [0.005, 0.0005], "a wins: 97.3 BLEU on `test`, 1.6 above b (p < 0.01)"),
        ([50.0, 70.0], [0.0005], "b wins: 70.0 BLEU on `test`, 20.0 above a (p < 0.001)"),
        ([60.0, 50.0], [0.049], "a wins: 60.0 BLEU on `test`, 10.0 above b (p < 0.05)"),
        ([60.0, 50.0], None, "a wins: 60.0 BLEU on `test`, 10.0 above b (not tested for significance)"),
        (
            [94.14, 94.08],
            [0.41],
            "a and b tie: 94.1 and 94.1 BLEU on `test`; the difference may be chance (p = 0.41)",
        ),
        ([60.0, 59.0], [0.05], "a and b tie: 60.0 and 59.0 BLEU on `test`; the difference may be chance (p = 0.05)"),
        (
            [60.0, 59.5, 59.0, 20.0],
            [0.3, 0.12, 0.0],
            "a, b and c tie: 60.0, 59.5 and 59.0 BLEU on `test`; their differences may be chance (p from 0.12 to 0.30)",
        ),
        ([60.0, 60.0], None, "a and b tie: 60.0 and 60.0 BLEU on `test`; not tested for significance"),
        ([60.0], [], "a: 60.0 BLEU on `test`, the only system"),
    ],
)
def test_the_verdict_in_words(corpus, scores, chances, sentence):
    assert said(corpus(scores, chances)) == sentence


def test_a_system_behind_one_that_lost_may_still_tie(corpus):
    """p depends on more than the score: the test of b found a difference, that of c did not."""
    found = verdicts.verdict(corpus([60.0, 59.0, 58.0], [0.01, 0.2]), "test")
    assert (found.claim, found.winners) == ("a and c tie", ["bpe_2k-a-tiny", "bpe_2k-c-tiny"])


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (([5, 6, 7], [1, 2, 3]), "a wins: 6.0 BLEU on `test`, mean of 3 seeds, 4.0 above b (p < 0.01)"),
        (
            ([9, 1, 2], [5, 6, 7]),
            "b and a tie: 6.0 and 4.0 BLEU on `test`, mean of 3 seeds; the difference may be chance (p = 0.51)",
        ),
        (([5, 6, 7],), "a: 6.0 BLEU on `test`, mean of 3 seeds, the only system"),
    ],
)
def test_several_seeds_are_judged_by_their_means(seeded, scores, sentence):
    """p by hand: see test_seeds."""
    assert said(seeded(*(list(map(float, one)) for one in scores))) == sentence


def test_fewer_edits_win(corpus):
    scores = {"test": {"ter": 20.0, "signatures": {}}}, {"test": {"ter": 25.5, "signatures": {}}}
    found = corpus([1.0, 2.0])
    systems = [replace(system, scores=score) for system, score in zip(found.systems, scores, strict=True)]
    assert said(replace(found, systems=systems)) == (
        "a wins: 20.0 TER on `test`, 5.5 below b (not tested for significance)"
    )


def test_a_part_too_small_to_resample_is_not_tested(corpus):
    found = replace(corpus([60.0, 50.0]), comparisons={"test": Comparison({}, "bs")})
    assert said(found) == "a wins: 60.0 BLEU on `test`, 10.0 above b (not tested for significance)"


def test_names_have_what_differs(corpus, make_system):
    found = corpus([60.0])
    found.systems.append(make_system("a", 70.0, size="small"))
    assert said(found).startswith("a-small wins: 70.0 BLEU on `test`, 10.0 above a-tiny")
