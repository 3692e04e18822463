import numpy as np
import torch

from pipeline.encoding.occurrences import Occurrences, positions
from tests.toys.samples import ragged


def test_by_hand():
    """Piece 3 is twice in pair 0, which counts once; piece 1 is nowhere."""
    found = Occurrences.of(np.array([3, 0, 3, 2, 0]), np.array([0, 0, 0, 2, 2]), 4, 3)
    dense = torch.tensor([[1.0, 0, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0]])
    x, y = torch.randn(4, 2), torch.randn(3, 2)
    torch.testing.assert_close(found.sums_of_pieces(x), dense.T @ x)
    torch.testing.assert_close(found.sums_of_pairs(y), dense @ y)
    torch.testing.assert_close(found.rarity, torch.tensor([3 / 2, 1, 3, 3]).log())


def test_positions_by_hand():
    pieces, numbers = positions(ragged([[7], [5, 6], [], [8, 8, 4]]), np.array([3, 2, 1]))
    assert (pieces.tolist(), pieces.dtype) == ([8, 8, 4, 5, 6], np.int64)
    assert numbers.tolist() == [0, 0, 0, 2, 2]
