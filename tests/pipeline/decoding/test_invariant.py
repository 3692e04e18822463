import random

import pytest
import torch

from pipeline import device
from pipeline.decoding.invariant import InvariantSearch
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


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("transformer_modern", {"width": 256, "feed_forward": 704}),
        ("transformer_postnorm", {"width": 512, "heads": 8, "feed_forward": 2048}),
        ("rnnsearch", {"embedding": 256, "width": 256, "alignment": 256, "maxout": 256}),
    ],
)
def test_a_gpu_searches_alike_at_real_sizes(name, sizes):
    """A GPU takes other kernels for large matrices, and for rows whose length is no multiple of 4."""
    where, draw, size = device.prepared(), random.Random(1), 8001
    model = networks.build(name, source_size=size, target_size=size, **sizes).to(where)
    sources = [draw.choices(range(4, size), k=1 + 3 * number % 47) for number in range(150)]
    with InvariantSearch(model, DECODING.changed(tokens_per_batch=2000), where, unknown=False) as searcher:
        together = searcher.search(sources, 2)
        assert searcher.search(sources[70:100], 2) == together[70:100]
        assert [searcher.search([source], 2)[0] for source in sources[:20]] == together[:20]


def test_on_a_gpu_all_batches_of_a_length_are_equally_large():
    where, lengths = torch.device("cuda"), [3, 0, 19, *[5] * 30]
    searcher = InvariantSearch(networks.build("rnnsearch"), DECODING, where, unknown=False)
    batches = list(searcher.batches(lengths, gpu_sources=4))
    assert batches[0] == [2]  # the budget is one of 32 positions
    assert all(len(batch) == 3 for batch in batches[1:])
    assert [index for batch in batches for index in batch] == [2, 0, *range(3, 33), 32, 32]
    assert [len(batch) for batch in searcher.batches(lengths)] == [1] * 32


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
