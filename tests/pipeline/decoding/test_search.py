import math

import pytest
import torch

from pipeline import ids
from pipeline.decoding.search import choose_pieces, forbidden, length_penalty, mask_pieces
from pipeline.files import DataError


def test_length_penalty_by_hand():
    lengths = torch.tensor([1, 7, 19])
    assert length_penalty(lengths, 0.0).tolist() == [1.0, 1.0, 1.0]
    assert length_penalty(lengths, 1.0).tolist() == [1.0, 2.0, 4.0]
    one, root, two = length_penalty(lengths, 0.5).tolist()
    assert (one, two) == (1.0, 2.0)
    assert abs(root - math.sqrt(2)) <= math.ulp(root)  # processors round its last bit up or down


def test_padding_unknown_and_bos_are_never_mask_pieces():
    logits = torch.arange(12, dtype=torch.bfloat16).view(2, 6)
    given = logits.clone()
    masked = mask_pieces(logits)
    assert masked.dtype == torch.float32
    assert masked[:, [ids.PAD, ids.UNK, ids.BOS]].eq(-math.inf).all()
    assert masked[:, 3:].tolist() == [[3, 4, 5], [9, 10, 11]]
    assert torch.equal(logits, given)
    for dtype in (torch.float32, torch.float64):
        wide = given.to(dtype)
        assert mask_pieces(wide).data_ptr() == wide.data_ptr()
        assert torch.equal(wide, masked.to(dtype))


@pytest.mark.parametrize("weights", [[[math.inf, 0.0], [0.0, 0.0]], [[math.nan, 0.0], [0.0, 0.0]]])
def test_a_logit_that_is_no_number_is_named(weights):
    class Broken:
        def logits(self, hidden):
            return hidden @ torch.tensor(weights)

    with pytest.raises(DataError, match=r"^weights: give no probabilities, got a logit that is no number; expected "):
        choose_pieces(Broken(), torch.tensor([[0.0, 1.0]]), lambda logits, rows: (logits,))


def test_unknown_pieces_are_forbidden_unless_allowed():
    assert forbidden(unknown=False) == (ids.PAD, ids.UNK, ids.BOS)
    assert forbidden(unknown=True) == (ids.PAD, ids.BOS)
    logits = torch.zeros(2, 6)
    assert mask_pieces(logits, forbidden(unknown=True)).isinf().nonzero()[:, 1].tolist() == [ids.PAD, ids.BOS] * 2
