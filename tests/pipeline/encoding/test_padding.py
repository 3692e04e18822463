import numpy as np
import torch

from pipeline import ids
from pipeline.encoding.padding import cuts, pad


def test_cuts_by_hand():
    def cut(lengths, budget):
        return list(cuts(lengths, budget))

    assert cut([2, 2, 2, 2], 4) == [(0, 2), (2, 4)]
    assert cut([1, 2, 3, 3], 6) == [(0, 2), (2, 4)]  # 3 sentences of 3 would be 9
    assert cut([3, 1, 1], 6) == [(0, 2), (2, 3)]  # the longest counts wherever it stands
    assert cut([9, 9], 6) == [(0, 1), (1, 2)]
    assert cut([], 6) == []


def test_pad_by_hand():
    sentences = [[5, 6], [], np.array([7], dtype=np.uint16)]
    assert pad(sentences).tolist() == [[5, 6], [ids.PAD, ids.PAD], [7, ids.PAD]]
    assert pad(sentences, before=(ids.BOS,)).tolist() == [[ids.BOS, 5, 6], [ids.BOS, 0, 0], [ids.BOS, 7, 0]]
    assert pad(sentences, after=(ids.EOS,)).tolist() == [[5, 6, ids.EOS], [ids.EOS, 0, 0], [7, ids.EOS, 0]]
    assert pad([[5]], before=(8, 9), after=(ids.EOS,)).tolist() == [[8, 9, 5, ids.EOS]]


def test_pad_has_room_for_every_id():
    padded = pad([np.array([2**32 - 1], dtype=np.uint32)])
    assert padded.dtype == torch.int64
    assert padded.tolist() == [[2**32 - 1]]
