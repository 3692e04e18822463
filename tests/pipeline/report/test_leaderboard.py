"""Who won, in words, and what stands in the tables."""

from dataclasses import replace

import pytest

from pipeline.evaluation.significance import Standing
from pipeline.report import leaderboard
from pipeline.report.leaderboard import verdict

UNTESTED = "not tested for significance"


def sentence(corpus):
    _, claim, reason = verdict(corpus, "test")
    return f"{claim.removesuffix(' (4 sentences, one seed)')}: {reason}"


@pytest.mark.parametrize(
    ("scores", "p_values", "expected"),
    [
        (
            [97.31, 95.73, 70.0],
            [None, 0.005, 0.0005],
            "a wins: 97.3 BLEU on test, 1.6 above b (p < 0.01; people agree with 73 % of such differences)",
        ),
        (
            [50.0, 70.0],
            [0.0005, None],
            "b wins: 70.0 BLEU on test, 20.0 above a (p < 0.001; people agree with 88 % of such differences)",
        ),
        (
            [60.0, 50.0],
            [],
            f"a wins: 60.0 BLEU on test, 10.0 above b ({UNTESTED}; people agree with 88 % of such differences)",
        ),
        (
            [60.0, 59.0],
            [None, 0.05],
            "a and b tie: 60.0 and 59.0 BLEU on test; the difference may be chance (p = 0.05)",
        ),
        (
            [60.0, 59.5, 59.0, 20.0],
            [None, 0.3, 0.12, 0.0],
            "a, b and c tie: 60.0, 59.5 and 59.0 BLEU on test; the differences may be chance (p from 0.12 to 0.30)",
        ),
        (
            # b differs clearly from a, c does not, although its score is lower
            [60.0, 59.0, 58.0],
            [None, 0.01, 0.2],
            "a and c tie: 60.0 and 58.0 BLEU on test; the difference may be chance (p = 0.20)",
        ),
        ([60.0, 60.0], [], f"a and b tie: 60.0 and 60.0 BLEU on test; {UNTESTED}"),
        ([60.0], [None], "a: 60.0 BLEU on test: "),
        (
            [4.9, 4.0],
            [None, 0.005],
            "No winner yet: a leads with 4.9 BLEU on test, but a BLEU below 5 is hardly a translation",
        ),
    ],
)
def test_the_verdict_in_words(read, scores, p_values, expected):
    [corpus] = read(**dict(zip("abcd", scores, strict=False)))
    standings = {
        system.name: Standing(50.0, 1.0, 0.0, p_value)
        for system, p_value in zip(corpus.systems, p_values, strict=False)
    }
    assert sentence(replace(corpus, standings={"test": standings})) == expected


def test_a_system_that_loops_is_no_winner(read):
    [corpus] = read(a=[60.0, 61.0], b=[50.0, 52.0])
    corpus.systems[0].diagnosis["test"] = ["repetition: 9 % of the translations loop; more text", "unknown: 3 %"]
    reason = "a leads with 60.5 BLEU on test, mean of 2 seeds, but 9 % of the translations loop"
    assert verdict(corpus, "test") == ([], "No winner yet", reason)
    assert [row.state for row in leaderboard.rows(corpus, "test")] == ["", ""]


def test_other_metrics_and_few_sentences_are_said(read):
    [corpus] = read(a=60.0, b=50.0)
    corpus.systems[1].scores[0]["test"]["chrf"] = 81.0
    untested = replace(corpus, standings={"test": {}})
    assert verdict(untested, "test").claim == "a wins by BLEU, b leads by chrF (4 sentences, one seed)"


def test_one_system_is_compared_with_none(read):
    [corpus] = read(a=60.0)
    assert [*leaderboard.rows(corpus, "test")[0].cells] == ["BLEU ± 95 %", "chrF", "parameters"]


def test_references_that_no_translation_can_equal_are_said_once(read):
    [corpus] = read(a=[60.0], b=[50.0])
    for system in corpus.systems:
        system.scores[0]["test"]["unmatchable_references"] = 3
    caption = leaderboard.terminal(corpus).caption
    assert (caption[:20], caption.count("references")) == ("3 references of test", 1)


def test_several_seeds_are_judged_by_their_means(read):
    """p by hand: see the t-test in test_significance.py."""
    [corpus] = read(a=[5.0, 6.0, 7.0], b=[1.0, 2.0, 3.0])
    assert sentence(corpus) == (
        "a wins: 6.0 BLEU on test, mean of 3 seeds, 4.0 above b (p < 0.01; people agree with 87 % of such differences)"
    )
    best, second = leaderboard.rows(corpus, "test")
    titles = ["BLEU ± s.d. of 3 seeds", "p (Holm)", "people", "chrF", "parameters"]
    cells = dict(zip(titles, ["6.00 ± 1.00", "–", "–", "80.00", "12,345"], strict=True))
    assert best == ("a", "won", 6.0, Standing(6.0, 1.0, None, None), cells)
    assert (second.state, [*second.cells.values()][:3]) == ("", ["2.00 ± 1.00", "0.008", "87 %"])


def test_systems_with_one_seed_are_compared_by_bootstrap(read):
    [corpus] = read(poor=30.0, good=90.0)
    best, second = leaderboard.rows(corpus, "test")
    assert (best.label, second.label) == ("good", "poor")
    assert best.standing.margin > 0
    assert "BLEU ± 95 %" in best.cells
    assert second.cells["p (Holm)"] not in ("–", "")
    assert [line.partition(":")[0] for line in corpus.signatures] == ["BLEU", "chrF", "paired bootstrap"]


def test_fewer_edits_win(read):
    [corpus] = read(a=20.0, b=25.5)
    systems = [
        replace(one, scores=[{"test": {"ter": one.scores[0]["test"]["bleu"]}}], details={"test": {"ter": {}}})
        for one in corpus.systems
    ]
    corpus = replace(corpus, systems=systems, standings={"test": {}})
    assert sentence(corpus) == f"a wins: 20.0 TER on test, 5.5 below b ({UNTESTED})"


def test_labels_have_what_differs(read):
    [corpus] = read(a=60.0)
    system = corpus.systems[0]
    larger = replace(system, system=system.system._replace(size="base"))
    assert corpus.label(system) == "a"
    two = replace(corpus, systems=[system, larger])
    assert [two.label(one) for one in two.systems] == ["a-tiny", "a-base"]


def test_scores_without_unknown_words_stand_beside_all(read):
    [corpus] = read(a=60.0)
    corpus.systems[0].scores[0]["test"] |= {"bleu_without_unknown": 71.5, "sentences_without_unknown": 3}
    cells = {"BLEU, no unknown": "71.50", "chrF, no unknown": "–", "parameters": "12,345"}
    assert [*leaderboard.rows(corpus, "test")[0].cells.items()][-3:] == [*cells.items()]
