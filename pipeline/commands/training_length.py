"""A training, a share to hold out, a vocabulary and a size of model for a new corpus: a start, not tuned values."""

from typing import NamedTuple

from ..common import cores, device

TOKENS_PER_WORD = 1.4  # of subwords in European languages, about
LARGE_PAIRS = 100_000  # from here on a training takes all cores
SMALL_PAIRS = 10_000  # from here on the model is `small`, below it `tiny`
SPEEDS = {"tiny": 6500, "small": 1600}  # target tokens that a core trains on in a second, about


class Size(NamedTuple):
    """How much text a part holds."""

    pairs: int
    words: int  # of the target language
    share: float = 0.0  # to hold out for validation, or for testing, at least: a smaller one would take no pair
    characters: int = 0  # of both languages, different ones


class Band(NamedTuple):
    """The batch size and number of epochs for corpora with fewer than `below` pairs."""

    below: float
    tokens_per_update: int
    epochs: int


# Multi30k (29,000 pairs) learns best in 14 epochs, the bundled corpus (14,000) in 7; smaller ones need more.
BANDS = (
    Band(SMALL_PAIRS, 1500, 30),
    Band(LARGE_PAIRS, 1500, 14),
    Band(1_000_000, 4000, 10),
    Band(float("inf"), 25_000, 5),
)
CHECKPOINTS = 50  # number that a training writes
LONGEST = 100_000  # updates, at most


def suggest(size: Size) -> dict[str, int]:
    """Keys of section `training` for a corpus."""
    band = next(band for band in BANDS if size.pairs < band.below)
    updates = min(band.epochs * size.words * TOKENS_PER_WORD / band.tokens_per_update, LONGEST)
    checkpoint_interval = max(2, round(updates / CHECKPOINTS))
    validation_interval = 5 * checkpoint_interval
    return {
        "updates": max(1, round(updates / validation_interval)) * validation_interval,
        "tokens_per_update": band.tokens_per_update,
        "tokens_per_batch": min(band.tokens_per_update * 4 // 3, 12_500),
        "max_length": 100,
        "validation_interval": validation_interval,
        "checkpoint_interval": checkpoint_interval,
        "threads": 1 if size.pairs < LARGE_PAIRS else 0,
    }


def held_out_share(size: Size | None) -> float:
    """The share of the pairs to hold out for validation, or for testing: 1,000 pairs, but at most a tenth if it can."""
    return max(float(f"{min(0.1, 1000 / size.pairs):.2g}"), size.share) if size else 0.001


def model_size(size: Size | None) -> str:
    """The size of a model."""
    return "tiny" if size and size.pairs < SMALL_PAIRS else "small"


def vocabulary(size: Size | None) -> str:
    """The vocabulary, one of the page's: larger for more text, and with twice as many pieces as characters."""
    if size and size.pairs < SMALL_PAIRS and size.characters <= 1000:
        return "bpe_2k"
    return "bpe_8k" if size and size.pairs < 1_000_000 and size.characters <= 4000 else "bpe_32k"


def minutes(sizes: list[str], size: Size | None) -> int:
    """How long trainings of models of these sizes take, about; 0 if that cannot be said, as on a GPU."""
    if size is None or device.best().type != "cpu" or not {*sizes} <= SPEEDS.keys():
        return 0
    training = suggest(size)
    lanes = cores.count() if training["threads"] == 0 else min(cores.count(), len(sizes))
    tokens = training["updates"] * training["tokens_per_update"]
    return max(1, round(sum(tokens / SPEEDS[one] for one in sizes) / lanes / 60))
