import math
from collections import Counter

import numpy as np
import pytest
import torch

from pipeline import ids
from pipeline.decoding import greedy, sampling
from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.search import FORBIDDEN, mask_pieces
from tests.toys import networks
from tests.toys.searches import DECODING

# First 4, 5 or the end; 4 is followed by 5 or the end. Forbidden pieces have a share that the others then divide.
TABLE = {(): {4: 0.4, 5: 0.2, ids.EOS: 0.2, ids.UNK: 0.2}, (4,): {5: 0.25, ids.EOS: 0.75}}


def uniform(line, length=6):
    return sampling.draws(1, line, 0, length)


def test_numbers_are_a_function_of_seed_line_and_sample():
    first = sampling.draws(1, 2, 3, 5)
    assert first.tolist() == sampling.draws(1, 2, 3, 7)[:5].tolist()
    others = [sampling.draws(*changed, 5).tolist() for changed in ((2, 2, 3), (1, 3, 3), (1, 2, 4))]
    assert len({tuple(one) for one in (first.tolist(), *others)}) == 4
    many = sampling.draws(1, 1, 1, 100_000)
    assert 0 <= many.min() < many.max() < 1
    assert many.mean() == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(("temperature", "power"), [(1.0, 1.0), (0.5, 2.0), (2.0, 0.5)])
def test_translations_come_as_often_as_they_are_likely(scripted, padded, temperature, power):
    """By hand: 4, 5 and the end have 0.5, 0.25 and 0.25 of the first step, to the power of 1 / temperature."""
    first = np.array([0.5, 0.25, 0.25]) ** power
    after = np.array([0.25, 0.75]) ** power
    first, after = first / first.sum(), after / after.sum()
    expected = {(4, 5): first[0] * after[0], (4,): first[0] * after[1], (5,): first[1], (): first[2]}
    number = 4000
    found = sampling.decode(
        scripted(TABLE), padded([[5]] * number), [uniform(line) for line in range(number)], temperature=temperature
    )
    counts = Counter(tuple(one.ids) for one in found)
    assert set(counts) == set(expected)
    for pieces, probability in expected.items():
        assert counts[pieces] / number == pytest.approx(probability, abs=4 * math.sqrt(0.25 / number))
    log_p = {tuple(one.ids): one.score for one in found}
    assert log_p[(4,)] == pytest.approx(math.log(0.5 * 0.75), abs=1e-5)  # that of the model, at any temperature
    assert log_p[()] == pytest.approx(math.log(0.25), abs=1e-5)


@pytest.mark.parametrize("unknown", [False, True])
def test_what_no_search_writes_is_never_drawn(drawn, padded, unknown):
    rows = [np.full(6, number) for number in (0.0, 1 - 2**-32)] + [uniform(line) for line in range(60)]
    found = sampling.decode(drawn(9), padded([[5, 6]] * len(rows)), rows, temperature=1.0, unknown=unknown)
    pieces = {piece for one in found for piece in one.ids}
    assert not pieces & (set(FORBIDDEN) - ({ids.UNK} if unknown else set()))
    assert (ids.UNK in pieces) == unknown


@pytest.mark.parametrize("temperature", [1e-4, 5e-324])
def test_a_cold_sample_is_greedy(temperature):
    network = networks.build("transformer_prenorm")
    limits = [6, 5, 4]
    found = sampling.decode(network, networks.SOURCE, [uniform(1, limit) for limit in limits], temperature=temperature)
    assert [one.ids for one in found] == greedy.decode(network, networks.SOURCE, limits)


def test_the_score_is_that_of_teacher_forcing():
    network = networks.build("rnnsearch")
    for one, source in zip(
        sampling.decode(network, networks.SOURCE, [uniform(line, 9) for line in range(3)], temperature=1.5),
        networks.SOURCE,
        strict=True,
    ):
        source = source[source != ids.PAD][None]
        gold = torch.tensor([*one.ids, ids.EOS][:9])
        given = torch.tensor([[ids.BOS, *gold[:-1].tolist()]])
        log_p = mask_pieces(network.logits(network.hidden(source, given))[0]).log_softmax(dim=1)
        assert one.score == pytest.approx(log_p[torch.arange(len(gold)), gold].sum().item(), abs=1e-5)


def test_a_length_of_nothing(drawn, padded):
    found = sampling.decode(drawn(9), padded([[5], [6]]), [np.zeros(0), uniform(1, 3)], temperature=1.0)
    assert found[0] == ([], 0.0)
    assert len(found[1].ids) <= 3
    assert sampling.decode(drawn(9), padded([[5]]), [np.zeros(0)], temperature=1.0) == [([], 0.0)]


@pytest.mark.parametrize("name", networks.NAMES)
def test_batch_mates_change_nothing(name):
    sources = [[5, 6, 7, 12], [8, 4], [], [5, 5, 5], [8, 4]]
    rows = [uniform(line, DECODING.max_length(len(source))) for line, source in enumerate(sources)]
    with InvariantSearch(networks.build(name), DECODING, torch.device("cpu"), unknown=False, threads=2) as searcher:
        together = searcher.sample(sources, rows, 1.0)
        alone = [searcher.sample([source], [row], 1.0)[0] for source, row in zip(sources, rows, strict=True)]
    assert together == alone
    assert together[2] == ([], 0.0)
