"""The sums of an update's losses and gradients, in an order that does not depend on the number of processes.

The micro-batches are the leaves of a binary tree. With n a power of two, those numbered r, r + n, r + 2n, ... are added
as the sum of r, r + 2n, r + 4n, ... and the sum of r + n, r + 3n, r + 5n, ... Rank r of n computes just the first, so
ranks have whole subtrees, whose sums `Ranks.all_reduce` then adds as one process alone would.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

# What nothing adds up to: x + -0.0 is x to the bit, whereas -0.0 + 0.0 is 0.0.
NOTHING = -0.0


def tree_sum(leaves: Sequence[int], compute: Callable[[int], list[Tensor]]) -> list[Tensor]:
    """The sums, tensor by tensor, of what `compute` gives for each leaf, of which there is at least one.

    It keeps as many lists of tensors as the tree is high.
    """
    if len(leaves) == 1:
        return compute(leaves[0])
    total = tree_sum(leaves[::2], compute)
    torch._foreach_add_(total, tree_sum(leaves[1::2], compute))
    return total


def nothing(weights: Sequence[nn.Parameter]) -> list[Tensor]:
    """The loss and gradients of no micro-batch."""
    loss = torch.full((), NOTHING, device=weights[0].device)
    return [loss, *(torch.full_like(weight, NOTHING, requires_grad=False) for weight in weights)]


def taken(weights: Iterable[nn.Parameter]) -> list[Tensor]:
    """The gradients, which the weights then no longer have; `NOTHING` for a weight that had none."""
    found = []
    for weight in weights:
        found.append(torch.full_like(weight, NOTHING, requires_grad=False) if weight.grad is None else weight.grad)
        weight.grad = None
    return found
