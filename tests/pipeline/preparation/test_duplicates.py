"""Keys of texts, and the set that grows by sorted arrays, against a Python set."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.preparation.duplicates import Seen, contains, digest, keys

ROOT = Path(__file__).parents[3]
GROW = """
import resource
import numpy as np
from pipeline.preparation.duplicates import Seen
generator, seen = np.random.default_rng(1), Seen()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(46):
    seen.add(generator.integers(0, 2**64, 1 << 16, dtype=np.uint64))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (46 << 16))
"""


def test_a_key_is_blake2b_of_the_text_whatever_the_machine():
    assert digest("Le chat dort.").hex() == "f076dd7ecd03ecde"  # printf "Le chat dort." | b2sum -l 64
    assert keys([bytes([1, 0, 0, 0, 0, 0, 0, 0]), bytes([0, 1, 0, 0, 0, 0, 0, 0])]).tolist() == [1, 256]


def test_a_salt_gives_other_keys():
    assert digest("Le chat dort.", b"1") != digest("Le chat dort.", b"2")


def test_contains_at_both_ends_and_between():
    run = np.array([3, 5, 9], dtype=np.uint64)
    assert contains(run, np.array([2, 3, 4, 9, 10], dtype=np.uint64)).tolist() == [False, True, False, True, False]


def test_the_first_of_equal_keys_is_new_within_a_batch_and_between_batches():
    seen = Seen()
    assert seen.add(np.array([7, 3, 7], dtype=np.uint64)).tolist() == [True, True, False]
    assert seen.add(np.array([3, 4], dtype=np.uint64)).tolist() == [False, True]


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_agrees_with_a_python_set_and_its_arrays_halve(size):
    stream, seen, known = np.random.default_rng(size).integers(0, 600, 1000).astype(np.uint64), Seen(), set()
    for start in range(0, 1000, size):
        expected = []
        for key in (batch := stream[start : start + size]).tolist():
            expected.append(key not in known)
            known.add(key)
        assert seen.add(batch).tolist() == expected
        lengths = [len(run) for run in seen.runs]
        assert all(first >= 2 * second for first, second in itertools.pairwise(lengths))
    assert sorted(np.concatenate(seen.runs).tolist()) == sorted(known)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_is_what_the_docstring_says():
    """18 MB per million keys at the peak, a fifth more for the allocator's moods."""
    shown = subprocess.run([sys.executable, "-c", GROW], capture_output=True, text=True, check=True, cwd=ROOT)
    assert float(shown.stdout) < 22
