import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from pipeline.decoding import beam
from pipeline.decoding.ensemble import Ensemble
from pipeline.decoding.search import batches, search
from pipeline.layers.kernels.prepacked import can_prepack
from tests.toys import networks
from tests.toys.searches import DECODING

CPU = torch.device("cpu")
SOURCES = [[5, 4, 6], [4], [6, 6, 5, 4, 7], [7, 5], [5] * 30, [4, 6, 5]]
needs_onednn = pytest.mark.skipif(not can_prepack(torch.empty(1, 1)), reason="torch is built without oneDNN")


def translations(model, sources, decoding=DECODING, number=1):
    return [hypotheses for _, hypotheses in sorted(search(model, sources, decoding, CPU, number))]


def test_each_is_what_beam_search_finds_for_it_alone(drawn, padded):
    model = drawn(9)
    settings = {"beam_size": 3, "alpha": 0.6, "n_best": 2}
    alone = [beam.decode(model, padded([one]), [DECODING.max_length(len(one))], **settings)[0][:2] for one in SOURCES]
    for tokens in (1, 40, 1000):
        assert translations(model, SOURCES, DECODING.changed(tokens_per_batch=tokens), 2) == alone
    assert translations(model, SOURCES[::-1], number=2) == alone[::-1]


def test_empty_sources_are_left_out(drawn):
    assert list(search(drawn(9), [[], []], DECODING, CPU)) == []
    assert [index for index, _ in search(drawn(9), [[], [4]], DECODING, CPU)] == [1]


def test_patience_reaches_the_search(drawn):
    exact, hasty = (translations(drawn(8, spread=2.0), SOURCES, DECODING.changed(patience=p), 3) for p in (0, 0.1))
    assert exact != hasty


def test_batches_are_padded_alike_and_within_the_budget():
    lengths = [3, 0, 19, 15, 3, 16, 90, *[5] * 30]
    found = batches(lengths, 60)
    assert sorted(index for batch in found for index in batch) == [0, *range(2, 37)]
    assert [[lengths[index] for index in batch] for batch in found[:4]] == [[90], [19, 16], [15], [5] * 10]
    assert [lengths[index] for index in found[-1]] == [3, 3]
    assert batches([], 60) == []


@needs_onednn
@pytest.mark.parametrize(
    "names", [["transformer_postnorm"], ["transformer_prenorm"], ["transformer_modern"] * 2], ids=str
)
def test_a_transformers_translation_depends_on_its_source_alone_to_the_bit(names, set_threads):
    """Nor on the number of threads, which share the network; tables of positions grow for sources of 300 pieces."""
    draw = random.Random(3)
    sources = [draw.choices(range(4, 11), k=1 + 3 * number % 40) for number in range(60)]
    sources += [draw.choices(range(4, 11), k=size) for size in (270, 300, 520)]
    decoding, few = DECODING.changed(max_length_factor=0.0, max_length_offset=9), sources[::7]
    set_threads(4)
    model = Ensemble(networks.build(name) for name in names) if names[1:] else networks.build(names[0])
    together = translations(model, sources, decoding.changed(tokens_per_batch=400), 2)
    set_threads(1)
    assert translations(model, sources[::-1], decoding.changed(tokens_per_batch=2000), 2)[::-1] == together
    assert [translations(model, [source], decoding, 2)[0] for source in few] == together[::7]


@pytest.mark.parametrize("name", ["rnn_encdec", "gru_attention", "bilstm_attention", "rnnsearch"])
def test_a_recurrent_models_translation_depends_on_its_source_alone(name, set_threads):
    """But for the last bits of its score; the number of threads changes nothing at all."""
    draw, model = random.Random(3), networks.build(name)
    sources = [draw.choices(range(4, 11), k=1 + 3 * number % 22) for number in range(40)]
    found = []
    for threads in (1, 2):
        set_threads(threads)
        found.append(translations(model, sources))
    assert found[0] == found[1]
    for source, [best] in list(zip(sources, found[0], strict=True))[::5]:
        [[alone]] = translations(model, [source])
        assert (alone.ids, alone.score) == (best.ids, pytest.approx(best.score, abs=1e-5))


def test_searches_of_several_threads_wait_for_each_other(drawn, set_threads):
    """Each takes all of torch's threads, whose number it changes meanwhile."""
    set_threads(3)
    expected = translations(drawn(9), SOURCES)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: translations(drawn(9), SOURCES), range(8))) == [expected] * 8
    assert torch.get_num_threads() == 3
