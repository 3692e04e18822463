"""A training length, and a share to hold out, that suit the size of a new corpus: a start, not tuned values."""

from typing import NamedTuple

TOKENS_PER_WORD = 1.4  # of subwords in European languages, about
LARGE_PAIRS = 100_000  # from here on a training takes all cores


class Band(NamedTuple):
    """The batch size and number of epochs for corpora with fewer than `below` pairs."""

    below: float
    tokens_per_update: int
    epochs: int


# Multi30k (29,000 pairs) learns best in 14 epochs, the bundled corpus (14,000) in 7; smaller ones need more.
BANDS = (
    Band(10_000, 1500, 30),
    Band(LARGE_PAIRS, 1500, 14),
    Band(1_000_000, 4000, 10),
    Band(float("inf"), 25_000, 5),
)
CHECKPOINTS = 50  # number that a training writes
LONGEST = 100_000  # updates, at most


def suggest(num_pairs: int, num_words: int) -> dict[str, int]:
    """Keys of `training.<corpus>` for a corpus of this many pairs and words of the target language."""
    band = next(band for band in BANDS if num_pairs < band.below)
    updates = min(band.epochs * num_words * TOKENS_PER_WORD / band.tokens_per_update, LONGEST)
    checkpoint_interval = max(2, round(updates / CHECKPOINTS))
    validation_interval = 5 * checkpoint_interval
    return {
        "updates": max(1, round(updates / validation_interval)) * validation_interval,
        "threads": 1 if num_pairs < LARGE_PAIRS else 0,
        "tokens_per_update": band.tokens_per_update,
        "tokens_per_batch": min(band.tokens_per_update * 4 // 3, 12_500),
        "max_length": 100,
        "validation_interval": validation_interval,
        "checkpoint_interval": checkpoint_interval,
    }


def held_out_share(num_pairs: int) -> float:
    """The share of the pairs to hold out for validation, or for testing: 1,000 pairs, but at most a tenth."""
    return float(f"{min(0.1, 1000 / num_pairs):.2g}")
