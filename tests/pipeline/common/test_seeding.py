"""A draw depends on its arguments alone."""

import numpy as np

from pipeline.common.seeding import generator, seed_for


def test_seeds_by_hand_and_all_different():
    assert seed_for(7, "order", 3, 4) == 1803041887232458492
    seeds = [seed_for(s, purpose, i) for s in range(10) for purpose in ("order", "dropout") for i in range(50)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_generator_draws_the_same_whatever_was_drawn_before():
    first = generator(1, "order", 5).random(4)
    generator(1, "order", 4).random(1000)
    assert np.array_equal(generator(1, "order", 5).random(4), first)
    assert not np.array_equal(generator(1, "order", 6).random(4), first)
