"""Mean, spread and Welch's t-test, by hand and by published examples; Holm's correction by hand."""

import pytest

from pipeline.evaluation.seeds import Spread, p_values, spread, welch


def test_mean_and_standard_deviation_by_hand():
    """Squares of the differences to the mean: 4 + 0 + 4, over 3 - 1."""
    assert spread([30.0, 32.0, 34.0]) == Spread(32.0, 2.0)


def test_t_test_by_hand():
    """Means 2 and 6, both variances 1, three each: t = 4 / sqrt(2/3) = 4.899, 4 degrees of freedom.

    With 4 degrees, p = 1 - x (3 - x^2) / 2 for x = t / sqrt(t^2 + 4) = sqrt(24 / 28).
    """
    x = (24 / 28) ** 0.5
    assert welch([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]) == pytest.approx(1 - x * (3 - x * x) / 2)


def test_variances_may_differ():
    """Variances 0 and 2 over 3: the degrees are those of the second sample, 2, for which p = 1 - t / sqrt(t^2 + 2)."""
    t = 4 / (4 / 3) ** 0.5
    assert welch([1.0, 1.0, 1.0], [3.0, 5.0, 7.0]) == pytest.approx(1 - t / (t * t + 2) ** 0.5)


@pytest.mark.parametrize(("second", "expected"), [(1.0, 1.0), (1.0001, 0.0)])
def test_samples_without_variance(second, expected):
    assert welch([1.0, 1.0], [second, second]) == expected


def test_the_order_of_two_systems_does_not_matter():
    first, second = [30.1, 30.9, 31.4], [31.0, 32.2, 31.9]
    assert p_values({"a": first, "b": second}) == p_values({"b": second, "a": first})


def test_holm_by_hand(monkeypatch):
    """Of three pairs the smallest p counts three times, the next twice, the last once, none less than one before it."""
    found = {("a", "b"): 0.04, ("a", "c"): 0.01, ("b", "c"): 0.03}
    monkeypatch.setattr("pipeline.evaluation.seeds.welch", lambda first, second: found[first[0], second[0]])
    scores = {name: [name] for name in "abc"}
    assert p_values(scores) == {frozenset("ac"): 0.03, frozenset("bc"): 0.06, frozenset("ab"): 0.06}
    found |= dict.fromkeys(found, 0.6)
    assert set(p_values(scores).values()) == {1.0}


def test_one_system_has_no_pair():
    assert p_values({"a": [1.0, 2.0]}) == {}
