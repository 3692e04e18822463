"""The sums of an update's losses and gradients, in an order that does not depend on the number of processes.

The micro-batches are the leaves of a binary tree. With n a power of two, those numbered r, r + n, r + 2n, ... are added
as the sum of r, r + 2n, r + 4n, ... and the sum of r + n, r + 3n, r + 5n, ... Rank r of n computes just the first, so
ranks have whole subtrees, whose sums `Ranks.all_reduce` then adds as one process alone would.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

ZERO = -0.0  # identity of addition, also for -0.0


def tree_sum(leaves: Sequence[int], compute: Callable[[int], list[Tensor]]) -> list[Tensor]:
    """The sums, tensor by tensor, of what `compute` gives for each leaf, of which there is at least one.

    It keeps as many lists of tensors as the tree is high.
    """
    if len(leaves) == 1:
        return compute(leaves[0])
    total = tree_sum(leaves[::2], compute)
    torch._foreach_add_(total, tree_sum(leaves[1::2], compute))
    return total


def pop_gradients(weights: Sequence[nn.Parameter]) -> list[Tensor]:
    """The gradients, taken from the weights; `ZERO` for a weight that has none."""
    gradients = []
    for weight in weights:
        gradient = weight.grad
        gradients.append(torch.full_like(weight, ZERO, requires_grad=False) if gradient is None else gradient)
        weight.grad = None
    return gradients
