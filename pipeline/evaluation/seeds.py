"""Whether the difference between two systems is more than another seed makes: Welch's t-test on their scores."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Pair = frozenset[str]  # names of two systems


class Spread(NamedTuple):
    """What one system scored with several seeds."""

    mean: float
    deviation: float  # standard deviation of the sample, with n - 1


def spread(scores: Sequence[float]) -> Spread:
    """Mean and standard deviation of the scores, one a seed, at least two."""
    return Spread(statistics.fmean(scores), statistics.stdev(scores))


def p_values(scores: Mapping[str, Sequence[float]]) -> dict[Pair, float]:
    """For each two systems, by name, how often seeds alone make so large a difference between their means.

    Corrected for the number of pairs: if no two systems differ, one test part in twenty has any p below 0.05.

    Source: Welch 1947; Holm 1979 for the correction. Bonferroni's is simpler and finds fewer differences.
    """
    pairs = [frozenset(pair) for pair in itertools.combinations(scores, 2)]
    found = {pair: welch(*(scores[name] for name in sorted(pair))) for pair in pairs}
    corrected, largest = {}, 0.0
    for place, (pair, p_value) in enumerate(sorted(found.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (len(found) - place) * p_value))
        corrected[pair] = largest
    return corrected


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """p of the two-sided t-test for equal means of two samples whose variances may differ.

    Samples without any variance have no t: equal ones have p 1, different ones p 0.
    """
    if len({*first}) == len({*second}) == 1:
        return float(first[0] == second[0])
    from scipy.stats import ttest_ind_from_stats  # a second, which only a report on several seeds needs

    samples = (number for scores in (first, second) for number in (*spread(scores), len(scores)))
    return float(ttest_ind_from_stats(*samples, equal_var=False).pvalue)
