"""Rates by hand at update 1, at the end of warm-up and at ten times that."""

import itertools

import pytest
from pydantic import TypeAdapter

from pipeline.training.schedules import Constant, InverseSquareRoot, Noam, Schedule


def test_noam_by_hand():
    """Width 512 and warm-up 4000 as published: 512^-0.5 = 0.0441942, 4000^-1.5 = 3.952847e-6, 4000^-0.5 = 0.0158114."""
    noam = Noam(kind="noam", factor=1.0, warmup=4000)
    assert noam.rate(1, 512) == pytest.approx(1.746928e-7, rel=1e-6)
    assert noam.rate(4000, 512) == pytest.approx(6.987712e-4, rel=1e-6)
    assert noam.rate(40000, 512) == pytest.approx(2.209709e-4, rel=1e-6)


def test_noam_is_scaled_by_factor_and_width():
    noam = Noam(kind="noam", factor=2.0, warmup=100)
    assert noam.rate(100, 64) == pytest.approx(2 * 0.125 * 0.1)
    assert noam.rate(25, 64) == pytest.approx(2 * 0.125 * 0.1 / 4)
    assert noam.rate(400, 64) == pytest.approx(2 * 0.125 * 0.1 / 2)


def test_inverse_square_root_by_hand():
    schedule = InverseSquareRoot(kind="inverse_sqrt", peak_rate=2e-3, warmup=400)
    assert schedule.rate(1, 256) == pytest.approx(5e-6)
    assert schedule.rate(200, 256) == pytest.approx(1e-3)
    assert schedule.rate(400, 256) == pytest.approx(2e-3)
    assert schedule.rate(1600, 256) == pytest.approx(1e-3)
    assert schedule.rate(4000, 256) == pytest.approx(2e-3 / 10**0.5)
    assert schedule.rate(4000, 1024) == schedule.rate(4000, 256)


def test_inverse_square_root_is_noam_with_its_height_said():
    noam = Noam(kind="noam", factor=1.0, warmup=300)
    schedule = InverseSquareRoot(kind="inverse_sqrt", peak_rate=noam.rate(300, 512), warmup=300)
    for update in (1, 2, 299, 300, 301, 3000, 123456):
        assert schedule.rate(update, 7) == pytest.approx(noam.rate(update, 512))


SHORT = [Noam(kind="noam", factor=1, warmup=7), InverseSquareRoot(kind="inverse_sqrt", peak_rate=1, warmup=7)]


@pytest.mark.parametrize("schedule", SHORT)
def test_rates_rise_to_the_end_of_warm_up_and_fall_after(schedule):
    rates = [schedule.rate(update, 16) for update in range(1, 71)]
    assert all(a < b for a, b in itertools.pairwise(rates[:7]))
    assert all(a > b for a, b in itertools.pairwise(rates[6:]))
    assert all(isinstance(rate, float) for rate in rates)


def test_constant():
    schedule = Constant(kind="constant", learning_rate=3e-4)
    assert [schedule.rate(update, 512) for update in (1, 100, 10**6)] == [3e-4] * 3


def test_kind_chooses():
    read = TypeAdapter(Schedule).validate_python
    assert read({"kind": "constant", "learning_rate": 1.0}) == Constant(kind="constant", learning_rate=1.0)
    assert isinstance(read({"kind": "noam", "factor": 1.0, "warmup": 1}), Noam)
    assert isinstance(read({"kind": "inverse_sqrt", "peak_rate": 1.0, "warmup": 1}), InverseSquareRoot)
