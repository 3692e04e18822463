"""Whether a difference between systems may be chance: of the sentences that are scored, or of the seed."""

import math
import os
import statistics
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sacrebleu.significance import PairedTest, Result

SEED = "SACREBLEU_SEED"  # of the environment; sacreBLEU draws from it, and takes 0 for none
ALPHA = 0.05  # a p of at least this: the difference may well be chance
SIGMOIDS = {"bleu": (0.88333, 0.96639), "chrf": (0.93, 1.11427), "spbleu": (0.91, 0.8079)}  # of points

FEW = 3  # trainings, below which their spread is not known


class Standing(NamedTuple):
    """One system's score, with its margin, beside the best system's."""

    mean: float
    margin: float  # of 95 % of the resamples, or the standard deviation over seeds
    p_value: float | None  # that chance makes as large a difference to the best; None for the best itself
    corrected: float | None  # the same for the number of systems, by Holm


def bootstrap(
    translations: Mapping[str, Sequence[str]], measure: Any, *, num_samples: int, seed: int
) -> tuple[dict[str, Standing], str]:
    """Every system's score against that of the first one, which is the best; and sacrebleu's signature.

    `measure` is sacrebleu's object for a metric, with references. A part of one sentence cannot be resampled: it has no
    standings. If two systems have the same score, p is 1; sacrebleu itself gives the smallest p for two translations
    that are equal line by line.

    Source: Koehn 2004; sacrebleu.significance, option `--paired-bs` of its command.
    """
    if len(next(iter(translations.values()))) < 2:
        return {}, ""
    os.environ[SEED] = str(seed)
    test = PairedTest(list(translations.items()), {"": measure}, None, test_type="bs", n_samples=num_samples)
    signatures, scores = test()
    [name] = scores.keys() - {"System"}
    results = [result for result in scores[name] if isinstance(result, Result)]
    (_, best), *others = pairs = list(zip(translations, results, strict=True))
    p_values = {system: 1.0 if result.score == best.score else result.p_value or 0.0 for system, result in others}
    corrected = holm(p_values)
    standings = {
        system: Standing(result.mean or 0.0, result.ci or 0.0, p_values.get(system), corrected.get(system))
        for system, result in pairs
    }
    return standings, str(signatures[name])


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Each p corrected for their number: if no difference is real, one test part in twenty has any below 0.05.

    Source: Holm 1979. Bonferroni's correction is simpler and finds fewer differences.
    """
    corrected: dict[str, float] = {}
    largest = 0.0
    for place, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        corrected[name] = largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
    return corrected


def agreement(metric: str, difference: float) -> float | None:
    """The share of pairs of systems with such a difference that people order as the metric does; None if unknown.

    At least a half: below, people and the metric agree as coins do.

    Source: Kocmi et al. 2024, arXiv 2401.06760; the sigmoids of the authors' package mt-thresholds 1.0.4.
    """
    if metric not in SIGMOIDS:
        return None
    most, slope = SIGMOIDS[metric]
    return max(0.5, most / (1 + math.exp(-slope * abs(difference))))


def seeds(scores: Mapping[str, Sequence[float]]) -> dict[str, Standing]:
    """Every system's mean and standard deviation over at least two seeds, against the first system, the best.

    Source: Welch 1947.
    """
    best, *others = scores
    p_values = {name: welch(scores[best], scores[name]) for name in others}
    corrected = holm(p_values)
    return {
        name: Standing(statistics.fmean(values), statistics.stdev(values), p_values.get(name), corrected.get(name))
        for name, values in scores.items()
    }


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """p of the two-sided t-test for equal means of two samples whose variances may differ; 1 for equal constants."""
    from scipy.stats import ttest_ind  # takes a second to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of samples without variance
        p_value = float(ttest_ind(first, second, equal_var=False).pvalue)
    return 1.0 if math.isnan(p_value) else p_value


def tolerance(metric: str, scores: Sequence[float], count: int, alpha: float) -> float:
    """How far the mean of `count` new trainings may lie from that of the known `scores`, but for `alpha` of the cases.

    t(1 - alpha / 2, n - 1) s sqrt(1 / n + 1 / count): the two-sided prediction interval of n known ones with standard
    deviation s. Welch's test would need two new ones. Another processor changes a score no more than another seed.
    Of fewer than three the interval would be wider than any fault: two points, or the nats that are about as much.

    Source: Hahn 1970, Statistical intervals for a normal population; the idea is that of MLPerf's reference
        convergence points.
    """
    from scipy.stats import t

    if len(scores) < FEW:
        return 0.1 if metric == "loss" else 2.0
    quantile = float(t.ppf(1 - alpha / 2, len(scores) - 1))
    return quantile * statistics.stdev(scores) * math.sqrt(1 / len(scores) + 1 / count)
