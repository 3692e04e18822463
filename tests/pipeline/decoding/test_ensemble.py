import itertools
import math

import pytest
import torch

from pipeline import ids
from pipeline.decoding import beam, greedy
from pipeline.decoding.ensemble import Ensemble
from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.search import mask_pieces
from tests.toys import networks
from tests.toys.searches import DECODING

LIMITS = [6, 5, 4]


def members(*names):
    """Networks with different weights."""
    found = []
    for number, name in enumerate(names):
        network = networks.build(name)
        with torch.no_grad():
            for weight in network.parameters():
                weight.mul_(1 - 0.2 * number)
        found.append(network)
    return found


def teacher_forced(networks_, source, pieces):
    """log P of pieces and then EOS: the mean over networks of each piece's probability, given all before it.

    Pieces that no search writes take no part in the mean.
    """
    given = torch.tensor([[ids.BOS, *pieces]])
    gold = torch.tensor([*pieces, ids.EOS])
    every = [network.logits(network.hidden(source[None], given))[0].double().softmax(dim=1) for network in networks_]
    mean = mask_pieces(torch.stack(every).mean(dim=0).log()).log_softmax(dim=1)
    return mean[torch.arange(len(gold)), gold].sum().item()


@pytest.mark.parametrize("names", [*itertools.combinations(networks.NAMES, 2), ("rnnsearch",) * 3], ids="+".join)
def test_a_hypothesis_has_the_mean_probability_of_its_pieces(names):
    found, num_ended, limits = members(*names), 0, [12, 11, 10]
    for index, hypotheses in enumerate(beam.decode(Ensemble(found), networks.SOURCE, limits, beam_size=8, alpha=0.6)):
        source = networks.SOURCE[index][networks.SOURCE[index] != ids.PAD]
        for pieces, score in (one for one in hypotheses if len(one.ids) < limits[index]):
            log_p = teacher_forced(found, source, pieces)
            assert score == pytest.approx(log_p / ((5 + len(pieces) + 1) / 6) ** 0.6, abs=1e-5)
            num_ended += 1
    assert num_ended


def test_probabilities_are_averaged_and_not_their_logarithms():
    """Of 0.9 and 0.1 the mean is 0.5 and the geometric mean, made to add up to 1 with the rest, another number."""

    class Fixed(torch.nn.Module):
        def __init__(self, probabilities):
            super().__init__()
            self.log_p = torch.tensor([probabilities]).log()

        def logits(self, hidden):
            return self.log_p.expand(len(hidden), -1) + 7  # logits may be shifted

    ensemble = Ensemble([Fixed([0.9, 0.06, 0.04]), Fixed([0.1, 0.5, 0.4])])
    ensemble.widths = [1, 2]
    expected = torch.tensor([[0.5, 0.28, 0.22]] * 2)
    torch.testing.assert_close(ensemble.logits(torch.zeros(2, 3)).exp(), expected)


@pytest.mark.parametrize("name", networks.NAMES)
def test_twice_the_same_network_is_that_network(name):
    network = networks.build(name)
    alone = beam.decode(network, networks.SOURCE, LIMITS, beam_size=3, alpha=0.6)
    for one, two in zip(
        alone, beam.decode(Ensemble([network] * 2), networks.SOURCE, LIMITS, beam_size=3, alpha=0.6), strict=True
    ):
        assert [hypothesis.ids for hypothesis in one] == [hypothesis.ids for hypothesis in two]
        assert [hypothesis.score for hypothesis in one] == pytest.approx([two_.score for two_ in two], abs=1e-5)


def test_a_beam_of_one_is_greedy():
    ensemble = Ensemble(members("rnnsearch", "transformer_prenorm"))
    greedily = greedy.decode(ensemble, networks.SOURCE, LIMITS)
    one = beam.decode(ensemble, networks.SOURCE, LIMITS, beam_size=1, alpha=0.0)
    assert greedily == [best.ids for best, *_ in one]


def test_batch_mates_change_nothing():
    ensemble = Ensemble(members("gru_attention", "transformer_postnorm")).eval()
    sources = [[5, 6, 7, 12], [8, 4], [9], [5, 5, 5], [8, 4]]
    with InvariantSearch(ensemble, DECODING, torch.device("cpu"), unknown=False, threads=2) as searcher:
        together = searcher.search(sources, 3)
        assert together == [searcher.search([source], 3)[0] for source in sources]
    assert together[1] == together[4]
    assert all(math.isfinite(hypothesis.score) for found in together for hypothesis in found)
