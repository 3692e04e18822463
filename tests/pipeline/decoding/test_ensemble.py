import itertools

import pytest
import torch

from pipeline.compute import ids
from pipeline.decoding import beam
from pipeline.decoding.ensemble import Ensemble
from pipeline.decoding.scores import mask_pieces
from tests.toys import networks

LIMITS = [12, 11, 10]


def members(*names):
    """Networks with different weights."""
    networks_ = [networks.build(name) for name in names]
    for number, network in enumerate(networks_):
        for weight in network.parameters():
            weight.data *= 1 - 0.2 * number
    return networks_


@torch.inference_mode()
def teacher_forced(networks_, source, pieces):
    """log P of pieces and then EOS: the mean over networks of each piece's probability, given all before it."""
    given, gold = torch.tensor([[ids.BOS, *pieces]]), torch.tensor([*pieces, ids.EOS])
    every = [network.logits(network.hidden(source[None], given))[0].double().softmax(dim=1) for network in networks_]
    mean = mask_pieces(torch.stack(every).mean(dim=0).log()).log_softmax(dim=1)
    return mean[torch.arange(len(gold)), gold].sum().item()


@pytest.mark.parametrize("names", [*itertools.pairwise(networks.NAMES), ("rnnsearch",) * 3], ids="+".join)
def test_a_hypothesis_has_the_mean_probability_of_its_pieces(names):
    networks_ = members(*names)
    found = beam.decode(Ensemble(networks_), networks.SOURCE, LIMITS, beam_size=8, alpha=0.6)
    for source, limit, hypotheses in zip(networks.SOURCE, LIMITS, found, strict=True):
        ended = [one for one in hypotheses if len(one.ids) < limit]
        for pieces, score in ended:
            expected = teacher_forced(networks_, source, pieces) / ((6 + len(pieces)) / 6) ** 0.6
            assert score == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", networks.NAMES)
def test_twice_the_same_network_is_that_network(name):
    network = networks.build(name)
    alone, both = (
        beam.decode(model, networks.SOURCE, LIMITS, beam_size=3, alpha=0.6)
        for model in (network, Ensemble([network] * 2))
    )
    assert [[one.ids for one in hypotheses] for hypotheses in both] == [[one.ids for one in some] for some in alone]
