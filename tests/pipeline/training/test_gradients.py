"""The sums of an update are the same to the bit, whatever the number of ranks and of micro-batches."""

import pytest
import torch
from torch import nn

from pipeline.training.gradients import pop_gradients, tree_sum


def draw(index):
    """What a micro-batch has: numbers whose sum depends on its order, and zeros of both signs."""
    numbers = torch.randn(50, generator=torch.Generator().manual_seed(index))
    return [numbers * 10.0 ** (index % 7), torch.tensor([0.0, -0.0]) * (index + 1)]


def sums_of_ranks(number, size):
    """The sums as `size` ranks make them, each pair after a round as `Ranks.pairwise`."""
    shards = [list(range(number))[rank::size] for rank in range(size)]
    empty = [torch.full((50,), -0.0), torch.full((2,), -0.0)]
    sums = [tree_sum(shard, draw) if shard else empty for shard in shards]
    distance = size // 2
    while distance:
        sums = [[a + b for a, b in zip(sums[r], sums[r ^ distance], strict=True)] for r in range(size)]
        distance //= 2
    return sums


def bits(tensors):
    return [tensor.view(torch.int32).tolist() for tensor in tensors]


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13, 19])
def test_ranks_add_as_one_process_does(number, size):
    alone = bits(tree_sum(range(number), draw))
    assert all(bits(one) == alone for one in sums_of_ranks(number, size))


def test_gradients_are_taken_from_the_weights():
    weights = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1))]
    (weights[0] * 3).sum().backward()
    assert bits(pop_gradients(weights)) == bits([torch.full((2,), 3.0), torch.full((1,), -0.0)])
    assert [weight.grad for weight in weights] == [None, None]
