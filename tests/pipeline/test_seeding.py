"""A draw depends on its arguments alone."""

import hashlib
import subprocess
import sys

import numpy as np

from pipeline import seeding


def test_seed_is_half_of_eight_bytes_of_sha256():
    first = hashlib.sha256(b"7:order:3:4").hexdigest()[:16]
    assert seeding.seed_for(7, "order", 3, 4) == int.from_bytes(bytes.fromhex(first), "little") // 2


def test_seeds_fit_torch_and_differ():
    seeds = [seeding.seed_for(s, purpose, i) for s in range(10) for purpose in ("order", "dropout") for i in range(50)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_number_of_indices_counts():
    assert len({seeding.seed_for(1, "order"), seeding.seed_for(1, "order", 0), seeding.seed_for(1, "order", 0, 0)}) == 3


def test_generator_draws_the_same_whatever_was_drawn_before():
    first = seeding.generator(1, "order", 5).random(4)
    seeding.generator(1, "order", 4).random(1000)
    np.random.default_rng().random(10)
    assert np.array_equal(seeding.generator(1, "order", 5).random(4), first)
    assert not np.array_equal(seeding.generator(1, "order", 6).random(4), first)


def test_seed_is_the_same_in_another_process(project_root):
    """Python's own hash is not: it is salted."""
    command = "from pipeline.seeding import seed_for; print(seed_for(1, 'order', 2))"
    said = subprocess.run(
        [sys.executable, "-c", command],
        cwd=project_root,
        env={"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(said.stdout) == seeding.seed_for(1, "order", 2)
