import math

import pytest
import torch

from pipeline.decoding.search import length_penalty
from tests.toys import searches

DECODING = searches.DECODING.changed(beam_size=5, max_length_factor=1.5)


def test_penalty_is_the_searchs():
    assert DECODING.penalty(7) == pytest.approx(2**0.6)
    for length in (1, 3, 50):
        assert DECODING.penalty(length) == pytest.approx(float(length_penalty(torch.tensor(length), 0.6)), rel=1e-12)


def test_maximum_length_and_patience():
    assert [DECODING.max_length(length) for length in (0, 1, 3)] == [4, 5, 8]
    assert DECODING.max_finished == math.inf
    assert DECODING.changed(patience=1.1, beam_size=10).max_finished == 11


def test_a_tiny_patience_still_leaves_one_translation():
    assert DECODING.changed(patience=1e-8).max_finished == 1
