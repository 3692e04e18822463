"""Comparisons against the sacrebleu command, and where its answer would mislead; Welch's test by hand."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from pipeline.evaluation.significance import Standing, agreement, bootstrap, holm, seeds, tolerance, welch

REFERENCES = [
    f"the {animal} sees {number} green birds near the old house ." for animal in ("cat", "dog") for number in range(12)
]
BEST = [line.replace("green", "blue") if index % 6 == 0 else line for index, line in enumerate(REFERENCES)]
CLOSE = [line.replace("near", "at") if index % 5 == 0 else line for index, line in enumerate(REFERENCES)]
POOR = [line.replace("green birds near", "a bird in") if index % 4 else line for index, line in enumerate(REFERENCES)]
SYSTEMS = {"best": BEST, "close": CLOSE, "poor": POOR}


def standings(systems, references=REFERENCES, seed=7):
    return bootstrap(systems, BLEU(force=True, references=[references]), num_samples=200, seed=seed)[0]


def test_standings_are_those_of_the_sacrebleu_command(tmp_path):
    for name, lines in {"references": REFERENCES, **SYSTEMS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", *SYSTEMS, "-m", "bleu", "-f", "json", "--force"]
    command += ["--paired-bs", "--paired-bs-n", "200"]
    answers = json.loads(
        subprocess.check_output(command, cwd=tmp_path, env=os.environ | {"SACREBLEU_SEED": "7"}, text=True)
    )
    expected = [[answer["BLEU"][key] for key in ("mean", "ci", "p_value")] for answer in answers]
    for standing, (mean, margin, p_value) in zip(standings(SYSTEMS).values(), expected, strict=True):
        assert standing[:2] == pytest.approx((mean, margin), abs=1e-4)
        assert standing.p_value == (p_value if p_value is None else pytest.approx(p_value))


def test_equal_translations_differ_by_chance():
    assert standings({"best": BEST, "same": list(BEST)})["same"].p_value == 1.0


def test_one_sentence_cannot_be_resampled():
    assert standings({name: lines[:1] for name, lines in SYSTEMS.items()}, REFERENCES[:1]) == {}


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


def test_mean_and_deviation_by_hand():
    """Squares of the differences to the mean: 4 + 0 + 4, over 3 - 1."""
    assert seeds({"a": [30.0, 32.0, 34.0]}) == {"a": Standing(32.0, 2.0, None, None)}


def test_holm_by_hand():
    """Of three p the smallest counts three times, the next twice, the last once, none less than one before it."""
    assert holm({"b": 0.04, "c": 0.01, "d": 0.03}) == {"b": 0.06, "c": 0.03, "d": 0.06}
    close, poor = [standings(SYSTEMS)[name] for name in ("close", "poor")]
    assert (close.corrected, poor.corrected) == (close.p_value, 2 * poor.p_value)


@pytest.mark.parametrize(
    ("metric", "difference", "share"),
    [("bleu", 0.3, 0.505), ("bleu", 1, 0.640), ("bleu", -2, 0.772), ("chrf", 0.71, 0.640), ("bleu", 0, 0.5)],
)
def test_how_many_people_agree_is_what_mt_thresholds_prints(metric, difference, share):
    assert agreement(metric, difference) == pytest.approx(share, abs=6e-4)
    assert agreement("ter", difference) is None


def test_tolerance_by_hand():
    """Deviation 2; with 2 degrees of freedom the quantile of p = 0.975 is (2p - 1) / sqrt(2p (1 - p))."""
    quantile = 0.95 / (2 * 0.975 * 0.025) ** 0.5
    known = [30.0, 32.0, 34.0]
    assert tolerance("bleu", known, 1, 0.05) == pytest.approx(quantile * 2 * (1 / 3 + 1) ** 0.5)
    assert tolerance("bleu", known, 2, 0.05) == pytest.approx(quantile * 2 * (1 / 3 + 1 / 2) ** 0.5)


def test_new_trainings_lie_within_the_tolerance_as_often_as_it_says():
    draws = np.random.default_rng(1).normal(size=(4000, 6))
    outside = [abs(row[4:].mean() - row[:4].mean()) > tolerance("bleu", row[:4], 2, 0.1) for row in draws]
    assert np.mean(outside) == pytest.approx(0.1, abs=0.015)  # three standard errors


def test_one_training_has_a_tolerance_of_two_points():
    assert (tolerance("bleu", [30.0], 1, 0.05), tolerance("loss", [1.5, 1.6], 1, 0.05)) == (2.0, 0.1)
