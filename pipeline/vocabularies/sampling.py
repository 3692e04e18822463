"""The sample of training pairs from which a vocabulary is made."""

import numpy as np

from ..common import seeding


def sample(num_pairs: int, most: int, seed: int) -> np.ndarray:
    """Whether each pair is chosen: all, or a seeded sample of `most` if there are more; a byte of memory a pair."""
    chosen = np.ones(num_pairs, dtype=bool)
    if num_pairs > most:
        draw = seeding.generator(seed, "vocabulary")
        chosen[:] = False
        chosen[draw.choice(num_pairs, most, replace=False, shuffle=False)] = True
    return chosen
