"""What suits a new corpus by the number of its pairs: a size, a vocabulary, a training and a share to hold out.

The choices are those of `benchmarks/data_size.py`, whose table is in docs/results.md.
"""

from typing import Any, NamedTuple

from ..common import cores
from ..compute import device

TOKENS_PER_WORD = 1.4  # of subwords in European languages, about
SPEEDS = {"tiny": 5000, "small": 1200}  # target tokens of a core in a second, about
MODEL = "transformer_modern"


class Size(NamedTuple):
    """How much text a part holds."""

    pairs: int
    words: int  # of the target language
    share: float = 0.0  # to hold out for validation, or for testing, at least: a smaller one would take no pair
    characters: int = 0  # of both languages, different ones


class Band(NamedTuple):
    """The choices for corpora with fewer than `below` pairs."""

    below: float
    size: str  # of MODEL
    other_size: str  # of another model
    vocabulary: str
    tokens_per_update: int
    threads: int
    learning: dict[str, Any]  # keys of MODEL in place of those of its size, which are for more text or time


STRONG = {"dropout": 0.3, "attention_dropout": 0.3, "feed_forward_dropout": 0.3}
WEAK = {"dropout": 0.1, "attention_dropout": 0.0, "feed_forward_dropout": 0.0}
SHORT = {"schedule": {"kind": "linear", "peak_rate": 0.002, "warmup": 300}, "r_drop": 0.0}
BANDS = (
    Band(5_000, "tiny", "tiny", "bpe_2k", 800, 1, STRONG),
    Band(20_000, "small", "small", "bpe_8k", 800, 0, STRONG | SHORT),
    Band(1_000_000, "small", "small", "bpe_8k", 800, 0, WEAK | SHORT),
    Band(float("inf"), "base", "small", "bpe_32k", 25_000, 0, {}),
)
UPDATES = 2_500  # of a training, unless they were too many or too few passes over the text
FEWEST_PASSES, MOST_PASSES = 4, 120
VOCABULARIES = ("bpe_2k", "bpe_8k", "bpe_32k")
SCRIPTS = ((1000, "bpe_8k"), (4000, "bpe_32k"))  # with more different characters, a vocabulary at least as large
CHECKPOINTS = 50  # number that a training writes
LONGEST = 100_000  # updates, at most


def band(size: Size | None) -> Band:
    """The choices for a corpus; one of unknown size is large."""
    return next(band for band in BANDS if size.pairs < band.below) if size else BANDS[-2]


def suggest(size: Size, passes: float | None = None) -> dict[str, int]:
    """Keys of section `training` for a corpus, for a number of passes over its pairs or for a good one."""
    updates_per_pass = size.words * TOKENS_PER_WORD / band(size).tokens_per_update
    passes = passes or min(max(UPDATES / updates_per_pass, FEWEST_PASSES), MOST_PASSES)
    return schedule(size, min(passes * updates_per_pass, LONGEST))


def schedule(size: Size | None, updates: float) -> dict[str, int]:
    """Keys of section `training` for about so many updates."""
    chosen = band(size)
    checkpoint_interval = max(2, round(updates / CHECKPOINTS))
    validation_interval = 5 * checkpoint_interval
    return {
        "updates": max(1, round(updates / validation_interval)) * validation_interval,
        "tokens_per_update": chosen.tokens_per_update,
        "tokens_per_batch": min(chosen.tokens_per_update * 9 // 8, 12_500),
        "max_length": 100,
        "validation_interval": validation_interval,
        "checkpoint_interval": checkpoint_interval,
        "threads": chosen.threads,
    }


def held_out_share(size: Size | None) -> float:
    """The share of the pairs to hold out for validation, or for testing: 1,000 pairs, but at most a tenth if it can."""
    return max(float(f"{min(0.1, 1000 / size.pairs):.2g}"), size.share) if size else 0.001


def vocabulary(size: Size | None) -> str:
    """The vocabulary, one of the page's; it has at least twice as many pieces as the text has characters."""
    characters = size.characters if size else 0
    return max(
        [band(size).vocabulary, *(name for least, name in SCRIPTS if characters > least)], key=VOCABULARIES.index
    )


def minutes(sizes: list[str], size: Size | None) -> int:
    """How long trainings of models of these sizes take, about; 0 if that cannot be said, as on a GPU."""
    if size is None or device.best().type != "cpu" or not {*sizes} <= SPEEDS.keys():
        return 0
    training = suggest(size)
    lanes = cores.count() if training["threads"] == 0 else min(cores.count(), len(sizes))
    tokens = training["updates"] * training["tokens_per_update"]
    return max(1, round(sum(tokens / SPEEDS[one] for one in sizes) / lanes / 60))
