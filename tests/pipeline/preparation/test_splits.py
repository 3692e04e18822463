"""Carving: a function of the folded source alone, so that nothing else moves a pair."""

import random
from collections import Counter

import pytest

from pipeline.common.params import ParamsError
from pipeline.preparation import splits
from pipeline.preparation.splits import Splitting, carve

PAIRS = [(f"Phrase numéro {number}.", f"Sentence number {number}.") for number in range(4000)]
WHERE = "corpora/toy.yaml: split"


def section(**changes):
    usual = {"carve_from": [], "validation_share": 0.1, "test_share": 0.05, "seed": 1}
    return Splitting(**usual | {"leakage": "drop", "near_leakage": "drop"} | changes)


def test_shares_are_about_what_was_asked():
    counts = Counter(part for part, _ in carve(PAIRS, section()))
    assert counts["validation"] == pytest.approx(400, abs=4 * 19)  # four standard deviations
    assert counts["test"] == pytest.approx(200, abs=4 * 14)
    assert counts.total() == 4000


def test_order_and_more_data_move_no_pair():
    before = {pair: part for part, pair in carve(PAIRS[:1000], section())}
    more = PAIRS + [(f"Autre phrase {number}.", "Another.") for number in range(500)]
    random.shuffle(more)
    after = {pair: part for part, pair in carve(more, section())}
    assert all(after[pair] == part for pair, part in before.items())


def test_pairs_of_the_same_source_stay_together():
    pairs = [pair for source, target in PAIRS for pair in ((source, target), (source.upper() + "  ", "Other."))]
    parts = [part for part, _ in carve(pairs, section())]
    assert parts[::2] == parts[1::2]


def test_another_seed_moves_pairs():
    before, after = (list(carve(PAIRS, section(seed=seed))) for seed in (1, 2))
    assert before != after


def test_the_share_of_validation_moves_no_pair_of_test_and_only_adds():
    few, many, other = (
        {
            part: {pair for name, pair in carve(PAIRS, section(**changes)) if name == part}
            for part in ("test", "validation")
        }
        for changes in ({"validation_share": 0.05}, {"validation_share": 0.3}, {"validation_share": 0.05, "seed": 2})
    )
    assert few["test"] == many["test"]
    assert few["validation"] < many["validation"]
    assert few != other


@pytest.mark.parametrize(
    ("brought", "shares", "got"),
    [(["validation", "test"], (0.1, 0.2), "brings a {}, got {}; expected 0.0"),
     ([], (0.0, 0.0), "brings no {}, got {:g}; expected above 0")],
)  # fmt: skip
def test_shares_that_do_not_fit_are_all_named(brought, shares, got):
    with pytest.raises(ParamsError) as error:
        splits.check_shares(section(validation_share=shares[0], test_share=shares[1]), ["train", *brought], WHERE)
    assert str(error.value).splitlines() == [
        f"{WHERE}.{part}_share: the corpus {got.format(f'{part} part', share)}"
        for part, share in zip(("validation", "test"), shares, strict=True)
    ]
