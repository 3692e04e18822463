"""Whether a difference between systems may be chance: of the sentences that are scored, or of the seed."""

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

ALPHA = 0.05  # a p of at least this: the difference may well be chance
STEPS = 100_000  # of the integral of Student's distribution


class Standing(NamedTuple):
    """One system's score, with its margin, beside the best system's."""

    mean: float
    margin: float  # of 95 % of the resamples, or the standard deviation over seeds
    p_value: float | None  # that chance makes as large a difference to the best; None for the best itself


def bootstrap(
    translations: Mapping[str, Sequence[str]], references: Sequence[str], *, tokenize: str, num_samples: int, seed: int
) -> tuple[dict[str, Standing], str]:
    """Every system's BLEU against that of the first one, which is the best; and sacrebleu's signature.

    A part of one sentence cannot be resampled, so it has no standings. If two systems have the same BLEU, p is 1;
    sacrebleu itself gives the smallest p for two translations that are equal line by line.

    Source: Koehn 2004; sacrebleu.significance, option `--paired-bs` of its command.
    """
    judge = BLEU(tokenize=tokenize, force=True, references=[list(references)])
    with sacrebleu_seed(seed):
        test = PairedTest(list(translations.items()), {"BLEU": judge}, None, test_type="bs", n_samples=num_samples)
        signatures, scores = test()
    results = [result for result in scores["BLEU"] if isinstance(result, Result)]
    standings = {}
    for name, result in zip(translations, results, strict=True):
        equal = result is not results[0] and result.score == results[0].score
        standings[name] = Standing(result.mean or 0.0, result.ci or 0.0, 1.0 if equal else result.p_value)
    return standings if len(references) > 1 else {}, str(signatures["BLEU"])


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """Have sacrebleu draw from this seed, which it reads from the environment, and takes 0 for none."""
    assert seed > 0, seed
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before


def seeds(scores: Mapping[str, Sequence[float]]) -> dict[str, Standing]:
    """Every system's mean and standard deviation over at least two seeds, against the first system, the best.

    p is Welch's, corrected for the number of systems: if none differs from the best, one test part in twenty has any p
    below 0.05.

    Source: Welch 1947; Holm 1979 for the correction. Bonferroni's is simpler and finds fewer differences.
    """
    best, *others = scores
    p_values = {name: welch(scores[best], scores[name]) for name in others}
    largest = 0.0
    for place, name in enumerate(sorted(others, key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(others) - place) * p_values[name]))
        p_values[name] = largest
    return {
        name: Standing(statistics.fmean(one), statistics.stdev(one), p_values.get(name)) for name, one in scores.items()
    }


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """p of the two-sided t-test for equal means of two samples whose variances may differ.

    Samples without any variance have no t: equal means have p 1, different ones p 0.
    """
    variances = [statistics.variance(one) / len(one) for one in (first, second)]
    difference = abs(statistics.fmean(first) - statistics.fmean(second))
    if not sum(variances):
        return float(not difference)
    freedom = sum(variances) ** 2 / sum(
        v**2 / (len(one) - 1) for v, one in zip(variances, (first, second), strict=True)
    )
    # Student's density over t = sqrt(freedom) * tan(angle) is cos(angle) ** (freedom - 1), which ends at a right angle.
    lowest = np.arctan(difference / np.sqrt(sum(variances) * freedom))
    tail, half = (
        np.trapezoid(np.cos(angles) ** (freedom - 1), angles)
        for angles in (np.linspace(start, np.pi / 2, STEPS) for start in (lowest, 0.0))
    )
    return float(tail / half)
