"""The numbers of the figures, the same for the PNG files and for the page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from pipeline.evaluation.results import Rows

Array = NDArray[Any]
Points = tuple[Sequence[float], Sequence[float | None]]  # places and values; None is not drawn

HEADROOM = 1.06  # of the highest score


class Curves(NamedTuple):
    """Lines, by name, over one axis."""

    title: str
    x_title: str
    y_title: str
    lines: Mapping[str, Points]
    ticks: Sequence[str]  # labels at 0, 1, 2, ... of the horizontal axis; if empty, its numbers
    top: float | None  # end of the vertical axis, which then starts from zero


class Grid(NamedTuple):
    """A value for each row and column."""

    title: str
    x_title: str
    y_title: str
    rows: Sequence[str]  # labels, which may repeat
    columns: Sequence[str]
    values: Array  # (rows, columns)
    lowest: float  # the value of the lightest colour
    highest: float
    cell: int  # pixels
    decimals: int | None  # of the values that are written into the cells; None: they are not


def train_loss(losses: Mapping[str, Rows]) -> Curves:
    """The loss that each system, by name, was trained on, over the updates."""
    lines = {
        name: ([int(row["update"]) for row in rows], [float(row["train_loss"]) for row in rows])
        for name, rows in losses.items()
    }
    return Curves("", "updates", "training loss (nats per token, smoothed)", lines, [], None)


def learning_curves(curves: Mapping[str, Rows]) -> list[Curves]:
    """Validation loss and, if measured, BLEU and accuracy of each system, by name, over the updates."""
    titles = {
        "validation_loss": "validation loss (nats per token)",
        "validation_bleu": "validation BLEU (greedy)",
        "validation_accuracy": "validation accuracy (share of tokens)",
    }
    panels = []
    for column, title in titles.items():
        if any(row.get(column) for rows in curves.values() for row in rows):
            lines = {
                name: ([int(row["update"]) for row in rows], [number(row.get(column)) for row in rows])
                for name, rows in curves.items()
            }
            top = None if column == "validation_loss" else highest(lines)
            panels.append(Curves("", "updates", title, lines, [], top))
    return panels


def scores_by_length(scores: Mapping[str, Rows], parts: Sequence[str]) -> list[Curves]:
    """BLEU of each system, by name, over the length of the source: one panel for each test part, on one scale."""
    panels = []
    for part in parts:
        chosen = {name: [row for row in rows if row["part"] == part] for name, rows in scores.items()}
        lines: dict[str, Points] = {
            name: (range(len(rows)), [float(row["bleu"]) for row in rows]) for name, rows in chosen.items()
        }
        # every system translates the same sources, so that their buckets are the same
        buckets = [f"{row['bucket']}\n({int(row['sentences']):,})" for row in next(iter(chosen.values()))]
        panels.append(Curves(part, "words in the source (sentences)", "BLEU", lines, buckets, None))
    top = max(highest(panel.lines) for panel in panels)
    return [panel._replace(top=top) for panel in panels]


def highest(lines: Mapping[str, Points]) -> float:
    """An end for an axis from zero that all lines fit below."""
    return HEADROOM * max(value or 0 for _, values in lines.values() for value in values) or 1.0


def number(text: str | None) -> float | None:
    """The number that a cell holds, if any."""
    return float(text) if text else None
