"""Where lines and ticks stand, by hand."""

import pytest

from pipeline.report import charts
from pipeline.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0.0, 0.37, [0, 0.1, 0.2, 0.3]),
        (1.3, 7.9, [2, 4, 6]),
        (100, 600, [100, 200, 300, 400, 500, 600]),
        (3.0, 3.0, [3.0]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert charts.ticks(low, high) == expected


def test_a_line_spans_the_chart():
    chart = charts.chart("a", "updates", {"x": [(0, 0.0), (50, 5.0), (100, 10.0)]})
    assert chart.lines["x"] == [
        (LEFT, HEIGHT - BOTTOM, "0: 0"),
        ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2, "50: 5"),
        (WIDTH - RIGHT, TOP, "100: 10"),
    ]
    assert [tick.text for tick in chart.y_ticks] == ["0", "2", "4", "6", "8", "10"]


def test_curves_that_were_not_measured_have_no_chart(read):
    [corpus] = read(a=50.0)
    titles = [chart.title.partition(" (")[0] for chart in charts.training(corpus)]
    assert titles == ["Training loss", "Validation loss", "Validation BLEU", "Learning rate"]
    bleu = charts.training(corpus)[2]
    assert [point.text for point in bleu.lines["a"]] == ["200: 60"]  # the first validation has none


def test_scores_by_length_have_the_buckets_as_ticks(read):
    [corpus] = read(a=50.0)
    [chart] = charts.by_length(corpus)
    assert [tick.text for tick in chart.x_ticks] == ["1-3 (1)", "4+ (3)"]
    assert [point.text for point in chart.lines["a"]] == ["1-3 (1): 50", "4+ (3): 40"]
