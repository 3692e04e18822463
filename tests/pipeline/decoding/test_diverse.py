import math

import pytest
import torch

from pipeline import ids
from pipeline.decoding import diverse, greedy
from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.search import FORBIDDEN, mask_pieces
from tests.toys import networks
from tests.toys.searches import DECODING

TABLE = {(): {4: 0.5, 5: 0.3, ids.EOS: 0.2}, (4,): {6: 0.6, 7: 0.4}, (5,): {6: 1.0}}


def test_each_keeps_off_what_those_before_it_take(scripted, padded):
    """By hand, with 0.6 nats a time. Step 1: the first takes 4; the second 5, since log 0.3 > log 0.5 - 0.6; the third
    4 again, since log 0.5 - 0.6 > log 0.2 > log 0.3 - 0.6. Step 2: the first takes 6, the second has nothing else, the
    third 7, since log 0.4 > log 0.6 - 2 * 0.6.
    """
    [found] = diverse.decode(scripted(TABLE), padded([[5]]), [6], number=3, strength=0.6)
    assert [one.ids for one in found] == [[4, 6], [5, 6], [4, 7]]
    assert [one.score for one in found] == pytest.approx([math.log(p) for p in (0.5 * 0.6, 0.3, 0.5 * 0.4)], abs=1e-5)


@pytest.mark.parametrize("name", ["rnnsearch", "transformer_prenorm"])
def test_the_first_is_greedy_and_nothing_keeps_the_others_off_without_strength(name):
    network, limits = networks.build(name), [6, 5, 4]
    expected = greedy.decode(network, networks.SOURCE, limits)
    found = diverse.decode(network, networks.SOURCE, limits, number=3, strength=0.7)
    assert [every[0].ids for every in found] == expected
    found = diverse.decode(network, networks.SOURCE, limits, number=3, strength=0.0)
    assert [[one.ids for one in every] for every in found] == [[pieces] * 3 for pieces in expected]


def test_with_a_high_price_all_first_pieces_differ():
    [found] = diverse.decode(networks.build("transformer_prenorm"), networks.SOURCE[:1], [6], number=6, strength=1e6)
    assert len({tuple(one.ids[:1]) for one in found}) == 6


@pytest.mark.parametrize("unknown", [False, True])
def test_what_no_search_writes_is_never_taken(drawn, padded, unknown):
    found = diverse.decode(drawn(9), padded([[5, 6], [7]]), [6, 6], number=6, strength=9.0, unknown=unknown)
    pieces = {piece for every in found for one in every for piece in one.ids}
    assert not pieces & (set(FORBIDDEN) - ({ids.UNK} if unknown else set()))
    assert (ids.UNK in pieces) == unknown


def test_the_score_is_that_of_teacher_forcing():
    network = networks.build("rnnsearch")
    [found] = diverse.decode(network, networks.SOURCE[:1], [9], number=3, strength=2.0)
    for one in found:
        gold = torch.tensor([*one.ids, ids.EOS][:9])
        given = torch.tensor([[ids.BOS, *gold[:-1].tolist()]])
        log_p = mask_pieces(network.logits(network.hidden(networks.SOURCE[:1], given))[0]).log_softmax(dim=1)
        assert one.score == pytest.approx(log_p[torch.arange(len(gold)), gold].sum().item(), abs=1e-5)


def test_a_length_of_nothing(drawn, padded):
    assert diverse.decode(drawn(9), padded([[5]]), [0], number=2, strength=1.0) == [[([], 0.0)] * 2]


@pytest.mark.parametrize("name", networks.NAMES)
def test_batch_mates_change_nothing(name):
    sources = [[5, 6, 7, 12], [8, 4], [], [5, 5, 5], [8, 4]]
    with InvariantSearch(networks.build(name), DECODING, torch.device("cpu"), unknown=False, threads=2) as searcher:
        together = searcher.diverse(sources, 3, 0.5)
        alone = [searcher.diverse([source], 3, 0.5)[0] for source in sources]
    assert together == alone
    assert together[2] == [([], 0.0)] * 3
    for every in together:
        assert [one.score for one in every] == sorted((one.score for one in every), reverse=True)
