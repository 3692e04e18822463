"""Every random draw is a function of (seed, purpose, index ...), never of what was drawn before."""

import hashlib

import numpy as np


def seed_for(seed: int, purpose: str, *indices: int) -> int:
    """A 63-bit seed for one draw; the same arguments give the same seed on every machine."""
    text = ":".join((str(seed), purpose, *map(str, indices)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def generator(seed: int, purpose: str, *indices: int) -> np.random.Generator:
    """A numpy generator for one draw."""
    return np.random.default_rng(seed_for(seed, purpose, *indices))


def sample(num_pairs: int, most: int, seed: int) -> np.ndarray:
    """Whether a vocabulary is made from each pair: all, or `most` if there are more; a byte of memory a pair."""
    chosen = np.ones(num_pairs, dtype=bool)
    if num_pairs > most:
        chosen[:] = False
        chosen[generator(seed, "vocabulary").choice(num_pairs, most, replace=False, shuffle=False)] = True
    return chosen
