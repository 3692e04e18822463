"""The sums of an update are the same to the bit, whatever the number of ranks and of micro-batches."""

import pytest
import torch
from torch import nn

from pipeline.training.gradients import nothing, taken, tree_sum


def drawn(index):
    """What a micro-batch has: numbers whose sum depends on its order, and zeros of both signs."""
    numbers = torch.randn(50, generator=torch.Generator().manual_seed(index))
    return [numbers * 10.0 ** (index % 7), torch.tensor([0.0, -0.0]) * (index + 1)]


def by_ranks(number, size):
    """The sums as `size` ranks make them, each pair after a round as `Ranks.pairwise`."""
    shards = [list(range(number))[rank::size] for rank in range(size)]
    empty = [torch.full((50,), -0.0), torch.full((2,), -0.0)]
    found = [tree_sum(shard, drawn) if shard else empty for shard in shards]
    distance = size // 2
    while distance:
        found = [[a + b for a, b in zip(found[r], found[r ^ distance], strict=True)] for r in range(size)]
        distance //= 2
    return found


def bits(tensors):
    return [tensor.view(torch.int32).tolist() for tensor in tensors]


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("number", range(1, 20))
def test_ranks_add_as_one_process_does(number, size):
    alone = bits(tree_sum(range(number), drawn))
    assert all(bits(one) == alone for one in by_ranks(number, size))


def test_the_order_matters_to_these_numbers():
    """Else the test above could not fail."""
    one_by_one = drawn(0)
    for index in range(1, 9):
        one_by_one = [a + b for a, b in zip(one_by_one, drawn(index), strict=True)]
    assert bits(one_by_one) != bits(tree_sum(range(9), drawn))


def test_each_leaf_is_computed_once_and_one_alone_is_not_copied():
    asked = []
    given = [torch.ones(1)]
    assert tree_sum([7], lambda _: given) is given
    tree_sum([3, 5, 8], lambda index: asked.append(index) or [torch.ones(1)])
    assert sorted(asked) == [3, 5, 8]


def test_gradients_are_taken_off_the_weights():
    weights = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1))]
    (weights[0] * 3).sum().backward()
    found = taken(weights)
    assert bits(found) == bits([torch.full((2,), 3.0), torch.full((1,), -0.0)])
    assert [weight.grad for weight in weights] == [None, None]
    assert bits(nothing(weights)) == bits([torch.tensor(-0.0), torch.full((2,), -0.0), torch.full((1,), -0.0)])
