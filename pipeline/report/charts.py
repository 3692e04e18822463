"""Line charts as numbers for an SVG: where lines, points and ticks stand."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .results import CorpusResults, Rows

WIDTH, HEIGHT = 400, 230  # units of the drawing; on the page about as many pixels
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 8, 38  # margins

Points = list[tuple[float, float]]
CURVES = {
    "validation_loss": "Validation loss (nats per token)",
    "validation_bleu": "Validation BLEU (greedy search)",
    "validation_accuracy": "Validation accuracy (share of tokens)",
    "learning_rate": "Learning rate",
}


class Point(NamedTuple):
    """A value, and where it stands."""

    left: float
    top: float
    text: str


class Chart(NamedTuple):
    """A drawing for the template."""

    title: str
    x_title: str
    lines: dict[str, list[Point]]
    x_ticks: list[Point]
    y_ticks: list[Point]


def training(corpus: CorpusResults) -> list[Chart]:
    """Losses, scores and learning rate of each system over its updates."""
    losses = {corpus.label(one): points(one.train_loss, "train_loss") for one in corpus.systems if one.curves}
    charts = [chart("Training loss (nats per token, smoothed)", "updates", losses)]
    for column, title in CURVES.items():
        lines = {corpus.label(one): points(one.curves, column) for one in corpus.systems if one.curves}
        if any(lines.values()):
            charts.append(chart(title, "updates", lines, from_zero=column != "validation_loss"))
    return charts


def by_length(corpus: CorpusResults) -> list[Chart]:
    """BLEU of each system by the length of the source, a chart for each test part."""
    charts = []
    for part in corpus.parts:
        chosen = {corpus.label(one): [row for row in one.by_length if row["part"] == part] for one in corpus.systems}
        # every system translates the same sources, so that the buckets are the same
        labels = [f"{row['bucket']} ({int(row['sentences']):,})" for row in next(iter(chosen.values()))]
        lines = {name: [(float(n), float(row["bleu"])) for n, row in enumerate(rows)] for name, rows in chosen.items()}
        x_title = "words in the source (sentences)"
        charts.append(chart(f"BLEU by length on {part}", x_title, lines, labels=labels, from_zero=True))
    return charts


def points(rows: Rows, column: str) -> Points:
    """A column over the updates, without cells that hold no finite number."""
    values = [(float(row["update"]), float(row.get(column) or "nan")) for row in rows]
    return [(update, value) for update, value in values if math.isfinite(value)]


def chart(
    title: str, x_title: str, lines: Mapping[str, Points], *, labels: Sequence[str] = (), from_zero: bool = False
) -> Chart:
    """A chart of lines; `labels` name the places 0, 1, 2, ... of the horizontal axis."""
    all_points = [point for line in lines.values() for point in line] or [(0.0, 0.0)]
    xs, ys = zip(*all_points, strict=True)
    x_ticks = list(range(len(labels))) if labels else ticks(min(xs), max(xs))
    y_ticks = ticks(0.0 if from_zero else min(ys), max(ys))
    x_range = (-0.3, len(labels) - 0.7) if labels else (min(xs), max(xs))
    y_range = min([*ys, *y_ticks[:1]]), max([*ys, *y_ticks[-1:]])

    def place(x: float, y: float, text: str) -> Point:
        return Point(
            round(LEFT + (WIDTH - LEFT - RIGHT) * share(x, x_range), 1),
            round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share(y, y_range), 1),
            text,
        )

    names = labels or [f"{x:,g}" for x in x_ticks]
    drawn = {
        name: [place(x, y, f"{labels[int(x)] if labels else format(x, ',g')}: {y:,.4g}") for x, y in line]
        for name, line in lines.items()
    }
    placed_x = [place(x, y_range[0], name) for x, name in zip(x_ticks, names, strict=True)]
    return Chart(title, x_title, drawn, placed_x, [place(x_range[0], y, f"{y:,g}") for y in y_ticks])


def share(value: float, ends: tuple[float, float]) -> float:
    """Where a value lies between two ends, from 0 to 1."""
    return (value - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`: steps of 1, 2 or 5 times a power of ten."""
    if high <= low:
        return [low]
    rough = (high - low) / 5  # about five ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
