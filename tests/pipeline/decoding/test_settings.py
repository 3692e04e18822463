import math

import pytest
import torch

from pipeline.decoding.search import length_penalty
from pipeline.decoding.settings import Decoding

SETTINGS = {
    "beam_size": 5,
    "length_penalty": 0.6,
    "patience": None,
    "mbr_temperature": None,
    "max_length_factor": 1.5,
    "max_length_offset": 4,
}


def test_penalty_is_the_searchs():
    decoding = Decoding(**SETTINGS, tokens_per_batch=10)
    assert decoding.penalty(7) == pytest.approx(2**0.6)
    for length in (1, 3, 50):
        assert decoding.penalty(length) == pytest.approx(float(length_penalty(torch.tensor(length), 0.6)), rel=1e-12)


def test_maximum_length_and_patience():
    decoding = Decoding(**SETTINGS, tokens_per_batch=10)
    assert [decoding.max_length(length) for length in (0, 1, 3)] == [4, 5, 8]
    assert decoding.max_finished == math.inf
    assert decoding.changed(patience=1.1, beam_size=10).max_finished == 11
