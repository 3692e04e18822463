import random

import pytest
import torch

from pipeline import device
from pipeline.decoding.ensemble import Ensemble
from pipeline.decoding.invariant import InvariantSearch, padded
from pipeline.decoding.translate import n_best
from tests.toys import networks, searches

CPU = torch.device("cpu")
DECODING = searches.DECODING.changed(length_penalty=0.8, max_length_factor=1.5, max_length_offset=3)


@pytest.mark.parametrize("name", networks.NAMES)
@pytest.mark.parametrize(
    "threads", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(0, marks=pytest.mark.gpu, id="gpu")]
)
def test_results_depend_on_no_other_source(name, threads):
    """To the bit, of every model there is; and they are those of ordinary batches but for rounding."""
    where, draw = CPU if threads else device.prepared(), random.Random(1)
    model = networks.build(name).to(where)
    sources = [draw.choices(range(4, 13), k=1 + 3 * number % 22) for number in range(40)] + [[]]
    searcher = InvariantSearch(model, DECODING, where, unknown=False, threads=threads)
    alone = [searcher.search([source], 2)[0] for source in sources]
    order = draw.sample(range(len(sources)), len(sources) // 2)
    with searcher:
        assert searcher.search(sources, 2) == alone
        assert searcher.search([sources[index] for index in order], 2) == [alone[index] for index in order]
    usual = n_best(model, sources, DECODING, where, 2)
    assert [[one.ids for one in found] for found in alone] == [[one.ids for one in found] for found in usual]
    for ours, theirs in zip(alone, usual, strict=True):
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-5)


REAL = {
    "transformer_modern": {"width": 256, "feed_forward": 704},
    "transformer_prenorm": {"width": 256, "feed_forward": 1024},
    "transformer_postnorm": {"width": 512, "heads": 8, "feed_forward": 2048},
    "rnnsearch": {"embedding": 256, "width": 256, "alignment": 256, "maxout": 256, "reset_gate": "after"},
    "gru_attention": {"embedding": 256, "encoder_width": 256, "width": 256},
    "bilstm_attention": {"embedding": 256, "encoder_width": 128, "width": 256},
    "rnn_encdec": {"embedding": 256, "width": 256},
}


@pytest.mark.gpu
@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("members", [*([name] for name in REAL), ["transformer_modern", "rnnsearch"]], ids="+".join)
def test_a_gpu_searches_alike_at_real_sizes(members, beam_size):
    """It takes other kernels for large matrices, and for long rows whose length is no multiple of 4."""
    where, draw, size = device.prepared(), random.Random(1), 10_001
    built = [networks.build(name, source_size=size, target_size=size, **REAL[name]) for name in members]
    model = Ensemble(built) if len(built) > 1 else built[0]
    sources = [draw.choices(range(4, size), k=1 + 3 * number % 47) for number in range(150)]
    order = draw.sample(range(len(sources)), 40)
    with InvariantSearch(model.to(where), DECODING.changed(beam_size=beam_size), where, unknown=False) as searcher:
        together = searcher.search(sources, 2)
        assert searcher.search([sources[index] for index in order], 2) == [together[index] for index in order]
        assert [searcher.search([sources[index]], 2)[0] for index in order[:20]] == [
            together[index] for index in order[:20]
        ]


@pytest.mark.parametrize("temperature", [None, 0.3])
@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", ["rnnsearch", "transformer_modern"])
def test_what_a_gpu_computes_depends_on_the_length_alone(name, beam_size, temperature, monkeypatch):
    """Each step has as many rows for one source as for many; here a CPU follows the same way."""
    decoding = DECODING.changed(beam_size=beam_size, mbr_temperature=temperature)
    model, draw = networks.build(name), random.Random(1)
    sources = [draw.choices(range(4, 11), k=1 + 5 * number % 40) for number in range(90)] + [[]]
    searcher = InvariantSearch(model, decoding, CPU, unknown=False)
    searcher.on_gpu, rows, step = True, [], type(model).step
    monkeypatch.setattr(
        type(model), "step", lambda net, state, tokens: rows.append(len(tokens)) or step(net, state, tokens)
    )
    with searcher:
        found = searcher.search(sources, 2)
        assert max(len(batch) for batch in searcher.batches([len(source) for source in sources], together=True)) > 30
        rows.clear()
        for index in (0, 7):
            [alone] = searcher.search([sources[index]], 2)
            assert [one.ids for one in alone] == [one.ids for one in found[index]]
            size = searcher.gpu_size(padded(len(sources[index])))
            assert rows == [size] + [size * beam_size] * (len(rows) - 1)
            rows.clear()
    usual = n_best(model, sources, decoding, CPU, 2)
    assert [[one.ids for one in every] for every in found] == [[one.ids for one in every] for every in usual]


def test_the_size_of_a_batch_on_a_gpu():
    searcher = InvariantSearch(networks.build("rnnsearch"), DECODING, torch.device("cuda"), unknown=False)
    assert [searcher.gpu_size(length) for length in (16, 32, 48, 4096)] == [64, 64, 42, 1]
    lengths = [3, 0, 19, *[5] * 70]
    assert [len(batch) for batch in searcher.batches(lengths, together=True)] == [1, 64, 7]
    assert [len(batch) for batch in searcher.batches(lengths)] == [1] * 72
    searcher.decoding = DECODING.changed(beam_size=50)
    assert searcher.gpu_size(16) == 10
    searcher.decoding = DECODING.changed(memory_pairs=8)
    assert searcher.gpu_size(16) == 1


def test_batches_are_padded_alike_and_within_the_budget():
    searcher = InvariantSearch(networks.build("rnnsearch"), DECODING, CPU, unknown=False, threads=2)
    lengths = [3, 0, 19, 15, 3, 16, 90, *[5] * 30]
    batches = list(searcher.batches(lengths))
    assert sorted(index for batch in batches for index in batch) == [
        index for index, length in enumerate(lengths) if length
    ]
    for batch in batches:
        [length] = {16 * -(-(lengths[index] + 1) // 16) for index in batch}
        assert len(batch) == 1 or len(batch) * length <= DECODING.tokens_per_batch
    assert [len(batch) for batch in batches][:4] == [1, 1, 1, 3]  # the two of 32 positions: one for each thread
    assert [lengths[index] for index in batches[3]] == [3, 3, 5]


def test_no_thread_keeps_a_mode_of_torch():
    """It would release a Python object after its last instruction, and abort a program that ends at that moment."""
    with InvariantSearch(networks.build("rnnsearch"), DECODING, CPU, unknown=False) as searcher:
        assert searcher.has_others
        searcher.search([[4, 5], [6] * 20], 1)
        searcher.constrained([4, 5], [[7]], 1, [])
        assert searcher.pool.submit(torch._C._len_torch_function_stack).result() == 0
