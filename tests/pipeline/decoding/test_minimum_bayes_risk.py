"""Minimum Bayes risk, against sacreBLEU and by hand."""

import itertools
import math
import random

import pytest
import sacrebleu

from pipeline.decoding.minimum_bayes_risk import common, ngrams, ranking, sentence_bleu


def bleu(one: list[int], other: list[int]) -> float:
    """The sentence BLEU of a text against a reference."""
    matches = [common(*pair) for pair in zip(ngrams(one), ngrams(other), strict=True)]
    return sentence_bleu(matches, len(one), len(other))


def drawn_texts(seed: int, number: int) -> list[list[int]]:
    """Texts of up to 9 of 4 pieces, some of them empty."""
    draw = random.Random(seed)
    return [[draw.randrange(4, 8) for _ in range(draw.randrange(10))] for _ in range(number)]


def test_sentence_bleu_is_that_of_sacrebleu():
    """Which adds 1 for n > 1 too, and knows no empty text."""
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, effective_order=False)
    for one, other in itertools.product(drawn_texts(1, 25), repeat=2):
        if set(one) & set(other):
            expected = metric.sentence_score(" ".join(map(str, one)), [" ".join(map(str, other))]).score
            assert 100 * bleu(one, other) == pytest.approx(expected)


def test_texts_with_nothing_in_common():
    assert bleu([4, 4], [5, 5]) == bleu([], [5]) == bleu([5], []) == 0
    assert bleu([], []) == bleu([4], [4]) == 1


def test_the_expected_bleu_by_hand():
    """The first is the likeliest, but the other two are alike."""
    texts = [[9, 9, 9, 9, 9], [4, 5, 6, 7, 8], [4, 5, 6, 7, 9]]
    assert ranking(texts, [math.log(0.4), math.log(0.3), math.log(0.3)], 1.0)[0] == 2
    assert ranking(texts, [math.log(0.4), math.log(0.3), math.log(0.3)], 0.01) == [0, 2, 1]


@pytest.mark.parametrize("seed", range(5))
def test_the_ranking_is_by_the_weighted_mean(seed):
    draw, texts = random.Random(seed), drawn_texts(seed, 6)
    scores, temperature = [draw.uniform(-3, 0) for _ in texts], 0.7
    weights = [math.exp(score / temperature) for score in scores]
    expected = [sum(w * bleu(one, other) for w, other in zip(weights, texts, strict=True)) for one in texts]
    found = ranking(texts, scores, temperature)
    assert sorted(found) == list(range(6))
    for better, worse in itertools.pairwise(found):
        assert expected[better] >= expected[worse] - 1e-12


def test_of_equal_ones_the_first_comes_first():
    assert ranking([[4, 5], [6, 7], [8, 9]], [-1.0, -1.0, -1.0], 0.3) == [0, 1, 2]
    assert ranking([[4]], [-5.0], 0.3) == [0]
    assert ranking([], [], 0.3) == []


def test_no_score_is_too_low_for_a_weight():
    assert ranking([[4], [5], [6]], [-1e6, -2e6, -1e5], 1e-3) == [2, 0, 1]
    assert ranking([[4], [5]], [0.0, -math.inf], 0.3) == [0, 1]
