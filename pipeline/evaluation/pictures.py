"""Figures as PNG files: the same numbers give the same bytes."""

import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from pipeline.evaluation.results import Rows

# Okabe and Ito's colours, which the colour-blind can tell apart, without the yellow that white paper swallows
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")  # one less than colours, so that a colour returns with another
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.dpi": 120,
    "savefig.dpi": 120,
}
WIDTH, PANEL_HEIGHT, LEGEND_HEIGHT = 10.0, 3.6, 0.26  # inches; at 120 dots each a page of 1280 pixels holds the width


def learning_curves(path: Path, curves: Mapping[str, Rows]) -> None:
    """Validation loss, and BLEU where it was measured, of each system, by name, over the updates."""
    panels = {"validation_loss": "validation loss (nats per token)", "validation_bleu": "validation BLEU (greedy)"}
    measured = [column for column in panels if any(row.get(column) for rows in curves.values() for row in rows)]
    with figure(path, curves, len(measured)) as axes:
        for ax, column in zip(axes, measured, strict=True):
            for look, rows in zip(looks(), curves.values(), strict=False):
                ax.plot([int(row["update"]) for row in rows], [number(row.get(column)) for row in rows], **look)
            ax.set(xlabel="updates", ylabel=panels[column])
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            if column == "validation_bleu":
                from_zero([ax])


def scores_by_length(path: Path, scores: Mapping[str, Rows], parts: list[str]) -> None:
    """BLEU of each system, by name, over the length of the source; one panel for each test part."""
    with figure(path, scores, len(parts)) as axes:
        for ax, part in zip(axes, parts, strict=True):
            for look, rows in zip(looks(), scores.values(), strict=False):
                rows = [row for row in rows if row["part"] == part]
                ax.plot(range(len(rows)), [float(row["bleu"]) for row in rows], **look)
            # every system translates the same sources, so that their buckets are the same
            ax.set_xticks(range(len(rows)), [f"{row['bucket']}\n({int(row['sentences']):,})" for row in rows])
            ax.set(title=part, xlabel="words in the source (sentences)", ylabel="BLEU")
            ax.set_xlim(-0.4, len(rows) - 0.6)
        from_zero(axes)


@contextmanager
def figure(path: Path, names: Collection[str], num_panels: int) -> Iterator[list[Axes]]:
    """Panels two abreast to draw on, each system in its look, written to `path` with a legend below."""
    num_columns = min(2, num_panels)
    num_rows = math.ceil(num_panels / 2)
    legend = LEGEND_HEIGHT * math.ceil(len(names) / 2)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own matplotlibrc says
        matplotlib.rcParams.update(STYLE)
        drawn = Figure(figsize=(WIDTH, PANEL_HEIGHT * num_rows + legend), layout="constrained")
        panels = list(drawn.subplots(num_rows, num_columns, squeeze=False).flat)
        yield panels[:num_panels]
        for panel in panels[num_panels:]:
            panel.remove()
        drawn.legend(panels[0].get_lines(), list(names), loc="outside lower center", ncols=min(2, len(names)))
        drawn.savefig(path, format="png", metadata={"Software": None})  # it would hold matplotlib's version


def from_zero(axes: list[Axes]) -> None:
    """Let scores start at zero, on the same scale in all panels."""
    top = max(ax.dataLim.y1 for ax in axes)
    for ax in axes:
        ax.set_ylim(0, 1.06 * top or 1)


def looks() -> Iterator[dict[str, Any]]:
    """Colour, dashes and marker of one system after the other."""
    for index, marker in enumerate(cycle(MARKERS)):
        dashes = DASHES[index // len(COLOURS) % len(DASHES)]
        yield {"color": COLOURS[index % len(COLOURS)], "linestyle": dashes, "marker": marker}


def number(text: str | None) -> float:
    """The number that a cell holds; not a number, which is not drawn, where it holds none."""
    return float(text) if text else math.nan
