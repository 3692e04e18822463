"""Rates by hand at update 1, at the end of warm-up and at ten times that."""

import itertools

import pytest
from pydantic import TypeAdapter

from pipeline.training.schedules import Constant, InverseSquareRoot, Linear, Noam, Schedule

LONG = 10**6  # updates


def test_noam_by_hand():
    """Width 512 and warm-up 4000 as published: 512^-0.5 = 0.0441942, 4000^-1.5 = 3.952847e-6, 4000^-0.5 = 0.0158114."""
    noam = Noam(kind="noam", factor=1.0, warmup=4000)
    assert noam.rate(1, width=512, updates=LONG) == pytest.approx(1.746928e-7, rel=1e-6)
    assert noam.rate(4000, width=512, updates=LONG) == pytest.approx(6.987712e-4, rel=1e-6)
    assert noam.rate(40000, width=512, updates=LONG) == pytest.approx(2.209709e-4, rel=1e-6)


def test_noam_is_scaled_by_factor_and_width():
    noam = Noam(kind="noam", factor=2.0, warmup=100)
    assert noam.rate(100, width=64, updates=LONG) == pytest.approx(2 * 0.125 * 0.1)
    assert noam.rate(25, width=64, updates=LONG) == pytest.approx(2 * 0.125 * 0.1 / 4)
    assert noam.rate(400, width=64, updates=LONG) == pytest.approx(2 * 0.125 * 0.1 / 2)


def test_inverse_square_root_by_hand():
    schedule = InverseSquareRoot(kind="inverse_sqrt", peak_rate=2e-3, warmup=400)
    assert schedule.rate(1, width=256, updates=LONG) == pytest.approx(5e-6)
    assert schedule.rate(200, width=256, updates=LONG) == pytest.approx(1e-3)
    assert schedule.rate(400, width=256, updates=LONG) == pytest.approx(2e-3)
    assert schedule.rate(1600, width=256, updates=LONG) == pytest.approx(1e-3)
    assert schedule.rate(4000, width=256, updates=LONG) == pytest.approx(2e-3 / 10**0.5)
    assert schedule.rate(4000, width=1024, updates=LONG) == schedule.rate(4000, width=256, updates=LONG)


def test_inverse_square_root_is_noam_with_its_height_said():
    noam = Noam(kind="noam", factor=1.0, warmup=300)
    schedule = InverseSquareRoot(kind="inverse_sqrt", peak_rate=noam.rate(300, width=512, updates=LONG), warmup=300)
    for update in (1, 2, 299, 300, 301, 3000, 123456):
        assert schedule.rate(update, width=7, updates=LONG) == pytest.approx(noam.rate(update, width=512, updates=LONG))


def test_linear_by_hand():
    """200 updates: 40 of warm-up, then 161 steps of 1/161 of the peak, of which the last but one is update 200."""
    schedule = Linear(kind="linear", peak_rate=1.61e-3, warmup=40)
    rates = [schedule.rate(update, width=256, updates=200) for update in (1, 20, 40, 41, 120, 200)]
    assert rates == pytest.approx([4.025e-5, 8.05e-4, 1.61e-3, 1.6e-3, 8.1e-4, 1e-5])


def test_linear_never_rises_past_a_training_shorter_than_its_warm_up():
    schedule = Linear(kind="linear", peak_rate=1.0, warmup=40)
    assert [schedule.rate(update, width=256, updates=2) for update in (1, 2)] == [0.025, 0.05]


SHORT = [
    Noam(kind="noam", factor=1, warmup=7),
    InverseSquareRoot(kind="inverse_sqrt", peak_rate=1, warmup=7),
    Linear(kind="linear", peak_rate=1, warmup=7),
]


@pytest.mark.parametrize("schedule", SHORT)
def test_rates_rise_to_the_end_of_warm_up_and_fall_after(schedule):
    rates = [schedule.rate(update, width=16, updates=70) for update in range(1, 71)]
    assert all(a < b for a, b in itertools.pairwise(rates[:7]))
    assert all(a > b for a, b in itertools.pairwise(rates[6:]))
    assert all(isinstance(rate, float) for rate in rates)


def test_constant():
    schedule = Constant(kind="constant", learning_rate=3e-4)
    assert [schedule.rate(update, width=512, updates=LONG) for update in (1, 100, 10**6)] == [3e-4] * 3


def test_kind_chooses():
    read = TypeAdapter(Schedule).validate_python
    assert read({"kind": "constant", "learning_rate": 1.0}) == Constant(kind="constant", learning_rate=1.0)
    assert isinstance(read({"kind": "noam", "factor": 1.0, "warmup": 1}), Noam)
    assert isinstance(read({"kind": "inverse_sqrt", "peak_rate": 1.0, "warmup": 1}), InverseSquareRoot)
    assert isinstance(read({"kind": "linear", "peak_rate": 1.0, "warmup": 1}), Linear)
