"""A budget to start from: it fits this project's params.yaml whatever the size of the corpus, and grows with it."""

import itertools

import pytest

from pipeline.encoding import training_length
from pipeline.encoding.budget import Training
from pipeline.params import DEFAULT
from pipeline.preparation.splits import Splitting
from tests.toys import published

PAIRS = [1, 2, 9, 10, 100, 9_999, 10_000, 29_000, 99_999, 100_000, 999_999, 1_000_000, 4_500_000, 40_800_000, 10**9]
WORDS = [1, 8, 500]  # a pair


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("pairs", PAIRS)
def test_it_is_right_beside_the_default_values(pairs, words):
    found = training_length.suggest(pairs, pairs * words)
    training = Training.model_validate(published.PARAMS["training"][DEFAULT] | found)
    assert 10 <= training.updates <= training_length.LONGEST
    assert training.updates % training.validation_interval == 0
    assert training.updates / training.checkpoint_interval >= 5
    assert training.tokens_per_batch <= 12_500
    assert training.max_length == 100


def test_one_word_is_enough():
    assert training_length.suggest(1, 1)["updates"] == 10


@pytest.mark.parametrize("words", WORDS)
def test_more_pairs_of_a_band_are_no_shorter_a_training(words):
    bounds = [1, *(band.below for band in training_length.BANDS[:-1]), 10**8]
    for low, high in itertools.pairwise(int(bound) for bound in bounds):
        sizes = [low, (low + high) // 2, high - 1]
        updates = [training_length.suggest(pairs, pairs * words)["updates"] for pairs in sizes]
        assert updates == sorted(updates)


@pytest.mark.parametrize(
    ("pairs", "words", "updates"),
    [
        (29_000, 12, 4_550),  # Multi30k: 29,000 * 12 * 1.4 tokens, 14 times, 1,500 an update
        (14_000, 7, 1_300),
        (500, 5, 70),
        (4_500_000, 25, 31_500),
        (40_800_000, 30, 100_000),
    ],
)
def test_updates_by_hand(pairs, words, updates):
    assert training_length.suggest(pairs, pairs * words)["updates"] == pytest.approx(updates, rel=0.05)


@pytest.mark.parametrize(("pairs", "threads"), [(99_999, 1), (100_000, 0)])
def test_a_large_corpus_takes_all_cores(pairs, threads):
    assert training_length.suggest(pairs, pairs * 10)["threads"] == threads


@pytest.mark.parametrize(
    ("pairs", "share"),
    [(1, 0.1), (9_999, 0.1), (10_000, 0.1), (29_000, 0.034), (1_000_000, 0.001), (3_000_000, 0.00033)],
)
def test_a_thousand_of_many_are_held_out_and_a_tenth_of_few(pairs, share):
    assert training_length.held_out_share(pairs) == share


@pytest.mark.parametrize("pairs", PAIRS)
def test_the_shares_are_right(pairs):
    share = training_length.held_out_share(pairs)
    both = {"validation_share": share, "test_share": share}
    Splitting.model_validate(published.PARAMS["split"] | {"carve_by": "source"} | both)
    assert pairs * share <= 1_050
