"""A memory of training pairs: which are found, what they add, and that nothing else moves."""

import copy
import random

import pytest
import torch

from pipeline import device, ids
from pipeline.decoding import memory
from pipeline.decoding.invariant import InvariantSearch
from pipeline.decoding.memory import Pairs, Recollection, WithMemory
from pipeline.decoding.translate import n_best, translate
from tests.toys import networks, samples, searches

CPU = torch.device("cpu")
DECODING = searches.DECODING.changed(memory_pairs=3, max_length_factor=1.5, max_length_offset=6)
SIZES = networks.SOURCE_SIZE, networks.TARGET_SIZE
SOURCES = samples.sentences(50, seed=1, vocabulary=SIZES[0], longest=9)
TARGETS = samples.sentences(50, seed=2, vocabulary=SIZES[1], longest=9)


def pairs(source=SOURCES, target=TARGETS, max_pieces=20):
    return Pairs(samples.encoded(source, target), SIZES[0], max_pieces)


def remembering(name="transformer_prenorm", **changed):
    return WithMemory(networks.build(name), pairs(), DECODING.changed(**changed), SIZES[1]).eval()


def table(*sources):
    longest = max(map(len, sources)) + 1
    rows = [[*source, ids.EOS, *[ids.PAD] * (longest - 1 - len(source))] for source in sources]
    return torch.tensor(rows).numpy()


def test_the_nearest_by_hand():
    """Piece 4 is in every source and counts for nothing; 7 is the rarest; how often a piece occurs does not matter."""
    found = pairs([[4, 5], [4, 6, 6, 6], [4, 5, 6], [4, 7, 5, 6], [4]], [[4]] * 5)
    assert found.nearest(table([6, 4], [7], [5, 6]), 3) == [(1, 2, 3), (3, 0, 1), (2, 0, 1)]
    assert found.nearest(table([4, ids.UNK]), 9) == [(0, 1, 2, 3, 4)]  # nothing in common: in the corpus's order


def test_pairs_that_were_not_trained_on_are_not_found():
    """Those with a side that is too long or empty."""
    found = pairs([[5], [5, 6], [5, 6, 7], [6], [7], []], [[4, 4, 4], [4], [4], [4], [], [4]], max_pieces=2)
    assert [one.tolist() for one in found.source] == [[5, 6], [6]]
    assert found.nearest(table([5]), 9) == [(0, 1)]


def test_probabilities_by_hand():
    """Positions count by exp(-d^2 / temperature), d^2 the mean over both units."""
    known = Recollection(torch.tensor([[0.0, 2], [4, 0], [0, 0]]), torch.tensor([3, 5, 3]))
    weights = torch.exp(-torch.tensor([4.0, 16, 0]) / 2 / 0.5)
    expected = torch.tensor([[0, 0, 0, weights[0] + weights[2], 0, weights[1]]]) / weights.sum()
    torch.testing.assert_close(known.probabilities(torch.zeros(1, 2), 0.5, 6), expected)


@pytest.mark.parametrize("name", networks.NAMES)
def test_what_was_seen_is_translated_as_there(name):
    """If the memory is all that counts, and only the very same place: the network is random, and knows nothing."""
    model = remembering(name, memory_pairs=1, memory_weight=0.999, memory_temperature=1e-6)
    unique = [row for row, source in enumerate(SOURCES) if SOURCES.count(source) == 1 and len(source) > 3]
    decoding = DECODING.changed(beam_size=1, max_length_offset=20)
    found = translate(model, [SOURCES[row] for row in unique], decoding, CPU)
    same = sum(one == TARGETS[row] for one, row in zip(found, unique, strict=True))
    assert same >= 0.9 * len(unique) > 20  # a random network can take two places for one


@pytest.mark.parametrize("name", networks.NAMES)
def test_both_are_mixed(name):
    """At every step of a translation; a share of 0 leaves the network's own probabilities."""
    model = remembering(name, memory_weight=0.3)
    source = torch.from_numpy(table(SOURCES[0], [5, 6, 7]))
    state, own_state = model.start(source), model.network.start(source)
    for pieces in ([ids.BOS, ids.BOS], [4, 5], [6, 6]):
        hidden, state = model.step(state, torch.tensor(pieces))
        own, own_state = model.network.step(own_state, torch.tensor(pieces))
        remembered = torch.cat(
            [one.probabilities(own[row : row + 1], 0.3, SIZES[1]) for row, one in enumerate(state.sentences)]
        )
        p = model.logits(hidden).exp()
        torch.testing.assert_close(p, 0.7 * model.network.logits(own).softmax(dim=1) + 0.3 * remembered)
        torch.testing.assert_close(p.sum(dim=1), torch.ones(2))


@pytest.mark.parametrize(
    "name",
    [name if name == "rnnsearch" else pytest.param(name, marks=pytest.mark.slow) for name in networks.NAMES],
)
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_results_depend_on_no_other_source(name, threads, monkeypatch):
    """Nor on what is kept of earlier ones: there is room for a block or two."""
    monkeypatch.setattr(memory, "MAX_KEPT", 200)
    draw = random.Random(1)
    sources = [draw.choices(range(4, 13), k=1 + 3 * number % 22) for number in range(30)] + [[]]
    alone = []
    for source in sources:
        with InvariantSearch(remembering(name), DECODING, CPU, unknown=False) as searcher:
            alone += searcher.search([source], 2)
    model = remembering(name)
    with InvariantSearch(model, DECODING, CPU, unknown=False, threads=threads) as searcher:
        assert searcher.search(sources, 2) == alone
        assert searcher.search(sources[::-2], 2) == alone[::-2]
    assert sum(len(one.pieces) for block in model.pairs.kept.values() for one in block) == model.pairs.num_kept <= 200
    usual = n_best(remembering(name), sources, DECODING, CPU, 2)
    assert [[one.ids for one in found] for found in alone] == [[one.ids for one in found] for found in usual]
    plain = n_best(networks.build(name), sources, DECODING, CPU, 2)
    assert [[one.ids for one in found] for found in alone] != [[one.ids for one in found] for found in plain]


def test_copies_share_the_pairs():
    model = remembering()
    assert copy.deepcopy(model).pairs is model.pairs


@pytest.mark.gpu
@pytest.mark.parametrize("name", networks.NAMES)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_gpu_remembers_as_a_cpu_does(name, beam_size):
    sources = [source for source in SOURCES if source][:9]
    decoding = DECODING.changed(beam_size=beam_size)
    expected = n_best(remembering(name), sources, decoding, CPU, 1)
    gpu = device.prepared()
    found = n_best(remembering(name).to(gpu), sources, decoding, gpu, 1)
    assert [best.ids for [best] in found] == [best.ids for [best] in expected]
    assert [best.score for [best] in found] == pytest.approx([best.score for [best] in expected], abs=1e-4)
    again = n_best(remembering(name).to(gpu), sources, decoding, gpu, 1)
    assert again == found
