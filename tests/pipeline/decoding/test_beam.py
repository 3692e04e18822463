import math

import pytest
import torch

from pipeline.compute import ids
from pipeline.decoding import beam, greedy
from pipeline.decoding.scores import mask_pieces
from tests.toys import networks, plain_search

SOURCES = [[5, 4, 6], [4], [], [6, 6, 5, 4, 7], [7, 5]]


def every_hypothesis(model, source, longest, alpha, no_repeat=0):
    """(score, pieces) of every possible hypothesis, the best first, by enumeration."""
    found = []

    def grow(prefix, log_p):
        [logits] = mask_pieces(model.scores([*source, ids.EOS], [ids.BOS, *prefix])[None])
        ngrams = [prefix[i : i + no_repeat] for i in range(len(prefix) - no_repeat + 1)] if no_repeat else []
        for ngram in ngrams:
            if ngram[:-1] == prefix[len(prefix) - no_repeat + 1 :]:
                logits[ngram[-1]] = -math.inf
        log_probabilities = logits.log_softmax(0)
        length = len(prefix) + 1
        for piece, log_q in enumerate(log_probabilities.tolist()):
            score = (log_p + log_q) / ((5 + length) / 6) ** alpha
            if piece == ids.EOS:
                found.append((score, prefix))
            elif log_q > -math.inf and length == longest:
                found.append((score, [*prefix, piece]))
            elif log_q > -math.inf:
                grow([*prefix, piece], log_p + log_q)

    grow([], 0.0)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize(
    ("vocabulary", "longest", "no_repeat"), [(5, 4, 0), (6, 4, 2), (6, 4, 0), (7, 3, 1), (7, 3, 0)]
)
def test_a_beam_wide_enough_is_exhaustive(drawn, padded, vocabulary, longest, alpha, no_repeat):
    beam_size, model = max((vocabulary - 4) ** longest, 2), drawn(vocabulary, spread=2.0)
    settings = {"beam_size": beam_size, "alpha": alpha, "n_best": 2, "no_repeat": no_repeat}
    found = beam.decode(model, padded(SOURCES), [longest] * 5, **settings)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        expected = every_hypothesis(model, source, longest, alpha, no_repeat)[:2]
        assert [one.ids for one in hypotheses[:2]] == [pieces for _, pieces in expected]
        assert [one.score for one in hypotheses[:2]] == pytest.approx([score for score, _ in expected], abs=1e-5)


@pytest.mark.parametrize("max_finished", [1, 3, math.inf])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_batch_finds_what_plain_python_finds(drawn, padded, beam_size, alpha, max_finished):
    limits, settings = [7, 5, 3, 1, 8], {"beam_size": beam_size, "alpha": alpha, "max_finished": max_finished}
    for seed in range(3):
        model = drawn(9, seed=seed, spread=2.0)
        found = beam.decode(model, padded(SOURCES), limits, **settings)
        for source, limit, hypotheses in zip(SOURCES, limits, found, strict=True):
            expected = plain_search.decode(model, padded([source]), limit, **settings)
            assert [one.ids for one in hypotheses] == [one.ids for one in expected]
            assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-5)


@pytest.mark.parametrize("name", networks.NAMES)
def test_every_model_keeps_the_right_state_of_each_prefix(name):
    """A state taken from another sentence or prefix, at any step, would show."""
    model, limits = networks.build(name), [12, 6, 4]
    found = beam.decode(model, networks.SOURCE, limits, beam_size=4, alpha=0.6)
    for row, limit, hypotheses in zip(networks.SOURCE, limits, found, strict=True):
        source = row[row != ids.PAD][None]
        expected = plain_search.decode(model, source, limit, beam_size=4, alpha=0.6, max_finished=math.inf)
        assert hypotheses[0].ids == expected[0].ids
        for pieces, score in hypotheses:
            output = torch.tensor([[*pieces, ids.EOS]])[:, :limit]
            entered = torch.cat((torch.tensor([[ids.BOS]]), output[:, :-1]), dim=1)
            log_p = mask_pieces(model.logits(model.hidden(source, entered))[0]).log_softmax(dim=1)
            expected_score = log_p.gather(1, output.T).sum().item() / ((5 + output.shape[1]) / 6) ** 0.6
            assert score == pytest.approx(expected_score, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_n_best_gives_as_many_and_the_same_best(drawn, padded, alpha):
    model = drawn(8, spread=2.0)
    one, four = (
        beam.decode(model, padded(SOURCES), [5] * 5, beam_size=4, alpha=alpha, n_best=n_best) for n_best in (1, 4)
    )
    assert [hypotheses[0] for hypotheses in four] == [hypotheses[0] for hypotheses in one]
    assert {len(hypotheses) for hypotheses in four} == {4} != {len(hypotheses) for hypotheses in one}


def test_a_beam_wider_than_all_hypotheses_finds_them_all(scripted, padded):
    model = scripted({(): {4: 0.7, ids.EOS: 0.3}, (4,): {4: 0.9, ids.EOS: 0.1}})
    [hypotheses] = beam.decode(model, padded([[4]]), [2], beam_size=6, alpha=0.0)
    assert [one.ids for one in hypotheses] == [[4, 4], [], [4]]


def test_finds_what_greedy_misses(scripted, padded):
    model = scripted({(): {4: 0.6, 5: 0.4}, (4,): {ids.EOS: 0.5, 6: 0.5}, (5,): {ids.EOS: 0.9, 6: 0.1}})
    assert greedy.decode(model, padded([[4]]), [2])[0].ids == [4]
    [[first, second]] = beam.decode(model, padded([[4]]), [2], beam_size=2, alpha=0.0)
    assert (first.ids, second.ids) == ([5], [4])
    assert (first.score, second.score) == pytest.approx((math.log(0.4 * 0.9), math.log(0.6 * 0.5)))


@pytest.mark.parametrize(("alpha", "pieces", "score"), [(0.0, [], math.log(0.4)), (1.0, [4] * 6, math.log(0.3) / 2)])
def test_length_penalty_prefers_the_longer_by_hand(scripted, padded, alpha, pieces, score):
    """EOS at once has |Y| = 1 and penalty 1; six pieces and EOS have |Y| = 7 and penalty 12 / 6."""
    always = {(4,) * length: {4: 1.0} for length in range(1, 6)}
    model = scripted({(): {ids.EOS: 0.4, 4: 0.3, 5: 0.3}, **always})
    [[best, *_]] = beam.decode(model, padded([[4]]), [7], beam_size=3, alpha=alpha)
    assert (best.ids, best.score) == (pieces, pytest.approx(score))


def test_finished_hypotheses_do_not_occupy_beam_slots(scripted, padded):
    """Two prefixes go on beside EOS, which ranks first: the best translation grows from the lower one."""
    model = scripted({(): {ids.EOS: 0.36, 4: 0.33, 5: 0.31}, (4,): {ids.EOS: 0.5, 6: 0.5}, (5,): {6: 1.0}})
    [[best, *_]] = beam.decode(model, padded([[4]]), [3], beam_size=2, alpha=1.0)
    assert (best.ids, best.score) == ([5, 6], pytest.approx(math.log(0.31) * 6 / 8))


@pytest.mark.parametrize(("max_finished", "pieces", "steps"), [(1, [], 1), (2, [4], 2), (3, [4, 4], 3)])
def test_max_finished_ends_a_search_though_better_ones_follow(scripted, padded, max_finished, pieces, steps):
    """Each further piece is likelier than the end before it: [] 0.3, [4] 0.7 * 0.45, [4, 4] 0.7 * 0.55 ..."""
    model = scripted({(): {4: 0.7, ids.EOS: 0.3}, (4,): {4: 0.55, ids.EOS: 0.45}, (4, 4): {ids.EOS: 1.0}})
    [found] = beam.decode(model, padded([[4]]), [5], beam_size=3, alpha=0.0, max_finished=max_finished)
    assert (found[0].ids, len(found), len(model.rows)) == (pieces, max_finished, steps)


def test_a_sentence_that_is_done_leaves_the_batch(scripted, padded):
    model = scripted({prefix: {4: 0.5, 5: 0.5} for prefix in [(), (4,), (5,), (4, 4), (4, 5), (5, 4), (5, 5)]})
    found = beam.decode(model, padded([[4], [5], [6], [7]]), [3, 0, 1, 2], beam_size=2, alpha=0.0)
    assert [len(hypotheses[0].ids) for hypotheses in found] == [3, 0, 1, 2]
    assert model.rows == [3, 4, 2]  # the first step has one prefix a sentence


def test_maximum_length_nought_is_an_empty_translation(drawn, padded):
    model = drawn(8)
    assert beam.decode(model, padded([[4], [5]]), [0, 0], beam_size=3, alpha=0.6) == [[([], 0.0)], [([], 0.0)]]
    assert model.rows == []


def test_of_equals_the_first_prefix_and_the_lower_piece(scripted, padded):
    quarter = {4: 0.25, 5: 0.25, 6: 0.25, 7: 0.25}
    model = scripted({(): quarter, (4,): quarter, (5,): quarter, (6,): quarter})
    [hypotheses] = beam.decode(model, padded([[4]]), [2], beam_size=3, alpha=0.6)
    assert [one.ids for one in hypotheses] == [[4, 4], [4, 5], [4, 6]]


def test_stable_topk_takes_the_first_of_equals():
    values = torch.randint(0, 30, (20, 400), generator=torch.Generator().manual_seed(1)).float()
    values[3, 5:] = -math.inf
    for count in (1, 7, 50, 400):
        top, index = beam.stable_topk(values, count)
        assert torch.equal(index, values.argsort(dim=1, descending=True, stable=True)[:, :count])
        assert torch.equal(top, values.gather(1, index))


@pytest.mark.parametrize("unknown", [True, False])
def test_unknown_pieces_are_written_on_demand(scripted, padded, unknown):
    model = scripted({(): {ids.UNK: 0.9, 4: 0.1}, (ids.UNK,): {ids.EOS: 1.0}, (4,): {ids.EOS: 1.0}})
    [found] = beam.decode(model, padded([[5]]), [10], beam_size=2, alpha=0.0, unknown=unknown)
    assert [one.ids for one in found] == ([[ids.UNK], [4]] if unknown else [[4]])


def test_weights_that_give_no_probabilities_are_named(drawn, padded):
    with pytest.raises(ValueError, match=r"^weights: give no probabilities, got a logit that is no number; expected "):
        beam.decode(drawn(8, spread=math.nan), padded([[4]]), [3], beam_size=2, alpha=0.0)
