"""Keys of texts, and the set that grows by sorted arrays, against a Python set."""

import numpy as np
import pytest

from pipeline.preparation.duplicates import Seen, digest, keys


def test_a_key_is_blake2b_of_the_text_whatever_the_machine():
    assert digest("Le chat dort.").hex() == "f076dd7ecd03ecde"  # printf "Le chat dort." | b2sum -l 64
    assert keys([bytes([1, 0, 0, 0, 0, 0, 0, 0]), bytes([0, 1, 0, 0, 0, 0, 0, 0])]).tolist() == [1, 256]
    assert digest("Le chat dort.", b"1") != digest("Le chat dort.", b"2")


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_the_first_of_equal_keys_is_new_as_in_a_python_set(size):
    stream, seen, known = np.random.default_rng(size).integers(0, 600, 1000).astype(np.uint64), Seen(), set()
    for start in range(0, 1000, size):
        expected = []
        for key in (batch := stream[start : start + size]).tolist():
            expected.append(key not in known)
            known.add(key)
        assert seen.add(batch).tolist() == expected
    assert sorted(np.concatenate(seen.runs).tolist()) == sorted(known)
    assert len(seen.runs) < 10  # each is at least twice as long as the next
