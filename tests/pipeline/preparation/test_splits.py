"""Carving: a function of the folded source alone, so that nothing else moves a pair."""

import random
import re
from collections import Counter

import pytest

from pipeline.params import ParamsError
from pipeline.preparation import splits
from pipeline.preparation.splits import Splitting, carve, hold_out

PAIRS = [(f"Phrase numéro {number}.", f"Sentence number {number}.") for number in range(4000)]


def section(**changes):
    return Splitting(
        **{"carve_by": "source", "validation_share": 0.1, "test_share": 0.05, "leakage": "drop", "near_leakage": "drop"}
        | {"seed": 1}
        | changes
    )


def test_shares_are_about_what_was_asked():
    counts = Counter(part for part, _ in carve(PAIRS, section()))
    assert counts["validation"] == pytest.approx(400, abs=4 * 19)  # four standard deviations
    assert counts["test"] == pytest.approx(200, abs=4 * 14)
    assert sum(counts.values()) == 4000


def test_order_and_more_data_move_no_pair():
    before = {pair: part for part, pair in carve(PAIRS[:1000], section())}
    more = PAIRS + [(f"Autre phrase {number}.", "Another.") for number in range(500)]
    random.shuffle(more)
    after = {pair: part for part, pair in carve(more, section())}
    assert all(after[pair] == part for pair, part in before.items())


def test_pairs_of_the_same_source_stay_together():
    pairs = [pair for source, target in PAIRS for pair in ((source, target), (source.upper() + "  ", "Other."))]
    found = [part for part, _ in carve(pairs, section())]
    assert found[::2] == found[1::2]
    assert set(found) == {"train", "validation", "test"}


def test_by_line_every_line_is_drawn_by_itself():
    twins = [pair for pair in PAIRS for _ in range(2)]
    found = [part for part, _ in carve(twins, section(carve_by="line"))]
    counts = Counter(found)
    assert counts["validation"] == pytest.approx(800, abs=4 * 27)
    assert counts["test"] == pytest.approx(400, abs=4 * 20)
    apart = sum(one != other for one, other in zip(found[::2], found[1::2], strict=True))
    assert apart == pytest.approx(4000 * (1 - 0.85**2 - 0.1**2 - 0.05**2), abs=4 * 28)


def test_by_line_lines_that_follow_move_none_and_the_seed_moves_most():
    before = list(carve(PAIRS[:1000], section(carve_by="line")))
    assert list(carve(PAIRS, section(carve_by="line")))[:1000] == before
    assert list(carve(PAIRS[:1000], section(carve_by="line", seed=2))) != before


def test_the_share_of_validation_moves_no_pair_of_test_and_only_adds():
    few = hold_out(PAIRS, section(validation_share=0.05), "x")
    many = hold_out(PAIRS, section(validation_share=0.3), "x")
    assert few["test"] == many["test"]
    assert set(few["validation"]) < set(many["validation"])


def test_another_seed_carves_other_pairs():
    assert hold_out(PAIRS, section(seed=1), "x") != hold_out(PAIRS, section(seed=2), "x")


def test_held_out_and_remaining_are_all():
    held_out = hold_out(PAIRS, section(), "x")
    assert sorted([*held_out["validation"], *held_out["test"], *splits.remaining_pairs(PAIRS, section())]) == sorted(
        PAIRS
    )


def test_one_part_alone_is_carved():
    assert list(hold_out(PAIRS, section(test_share=0.0), "x")) == ["validation"]
    assert list(hold_out(PAIRS, section(validation_share=0.0), "x")) == ["test"]


def test_nothing_is_carved_where_the_corpus_brings_all():
    brings = section(validation_share=0.0, test_share=0.0)
    assert hold_out(iter(PAIRS), brings, "x") == {}
    assert list(splits.remaining_pairs(PAIRS, brings)) == PAIRS


def test_a_share_too_small_to_carve_a_pair():
    message = (
        "corpora/toy.yaml: split.validation_share: carves no pair from 10, got 1e-09; expected a larger share\n"
        "corpora/toy.yaml: split.test_share: carves no pair from 10, got 1e-09; expected a larger share"
    )
    with pytest.raises(ParamsError, match=f"^{re.escape(message)}$"):
        hold_out(PAIRS[:10], section(validation_share=1e-9, test_share=1e-9), "corpora/toy.yaml: split")


@pytest.mark.parametrize(
    ("brought", "shares", "message"),
    [
        (
            ["validation", "test"],
            (0.1, 0.0),
            "validation_share: the corpus brings a validation part, got 0.1; expected 0.0",
        ),
        (["validation", "news"], (0.0, 0.2), "test_share: the corpus brings a test part, got 0.2; expected 0.0"),
        (["test"], (0.0, 0.0), "validation_share: the corpus brings no validation part, got 0; expected above 0"),
        (["validation"], (0.0, 0.0), "test_share: the corpus brings no test part, got 0; expected above 0"),
    ],
)
def test_shares_must_fit_what_the_corpus_brings(brought, shares, message):
    given = section(validation_share=shares[0], test_share=shares[1])
    with pytest.raises(ParamsError, match=f"^{re.escape('corpora/toy.yaml: split.' + message)}$"):
        splits.check_shares(given, ["train", *brought], "corpora/toy.yaml: split")


def test_both_faults_of_the_shares_at_once():
    with pytest.raises(ParamsError, match=r"split\.validation_share: .*\n.*split\.test_share: "):
        splits.check_shares(section(), ["train", "validation", "test"], "corpora/toy.yaml: split")


@pytest.mark.parametrize(
    ("brought", "shares"),
    [(["train"], (0.1, 0.1)), (["train", "news"], (0.1, 0.0)), (["train", "validation", "test"], (0.0, 0.0))],
)
def test_shares_that_fit(brought, shares):
    splits.check_shares(section(validation_share=shares[0], test_share=shares[1]), brought, "corpora/toy.yaml: split")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"validation_share": 1.0}, ".validation_share: should be less than 1, got 1.0"),
        ({"test_share": -0.1}, ".test_share: should be greater than or equal to 0, got -0.1"),
        ({"validation_share": 0.6, "test_share": 0.5}, ": the two shares must sum to less than 1, got 1.1"),
        ({"leakage": "ignore"}, ".leakage: should be 'drop', 'report' or 'fail', got 'ignore'"),
        ({"near_leakage": "no"}, ".near_leakage: should be 'drop', 'report' or 'fail', got 'no'"),
        ({"seed": -1}, ".seed: should be greater than or equal to 0, got -1"),
    ],
)
def test_the_section_says_what_is_wrong(changes, message):
    faults = list(Splitting.faults(section().model_dump() | changes, "split"))
    assert faults == [f"params.yaml: split{message}"]
