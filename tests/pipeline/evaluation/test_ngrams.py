"""N-grams, counted by hand and beside sacrebleu."""

import pytest
from sacrebleu.metrics.bleu import BLEU

from pipeline.evaluation import ngrams

HYPOTHESES = ["the the cat", "a dog barks at a dog", ""]
REFERENCES = ["the cat sleeps", "a dog barks", "yes"]


def words(lines):
    return [line.split() for line in lines]


@pytest.fixture
def found():
    return ngrams.orders(words(HYPOTHESES), words(REFERENCES), 2)


def test_ngrams_are_counted_sentence_by_sentence(found):
    unigrams, bigrams, trigrams, fourgrams = found
    assert unigrams[:3] == (5, 9, 7)  # the cat, a dog barks
    assert bigrams[:3] == (3, 7, 4)
    assert trigrams[:3] == (1, 5, 2)
    assert fourgrams[:3] == (0, 3, 0)
    assert fourgrams.precision == 0.0


def test_the_most_missed_and_invented_come_first_then_the_alphabet(found):
    assert found[0].missed == [(("sleeps",), 1), (("yes",), 1)]
    assert found[0].invented == [(("a",), 1), (("at",), 1)]
    assert found[1].missed == [(("cat", "sleeps"), 1)]
    assert found[1].invented == [(("a", "dog"), 1), (("at", "a"), 1)]
    assert ngrams.orders([["x"] * 3], [["y"]], 1)[0].invented == [(("x",), 3)]


def test_a_word_is_not_invented_in_one_sentence_for_being_missed_in_another():
    [unigrams, *_] = ngrams.orders([["a"], ["b"]], [["b"], ["a"]], 5)
    assert (unigrams.matched, unigrams.missed) == (0, [(("a",), 1), (("b",), 1)])


def test_precisions_are_those_of_sacrebleu(found):
    bleu = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(HYPOTHESES, [REFERENCES])
    assert [100 * order.precision for order in found] == pytest.approx(bleu.precisions)


def test_no_translation_has_no_precision():
    assert ngrams.orders([[]], [["a"]], 1)[0].precision == 0.0
