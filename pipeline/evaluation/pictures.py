"""Figures as PNG files: the same numbers give the same bytes."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from pipeline.evaluation.panels import Curves, Grid
from pipeline.files import new_file

Layout = Literal["constrained"] | None

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
    "text.parse_math": False,  # a piece may well be a dollar sign
}
GRID_STYLE: dict[Any, Any] = STYLE | {"axes.grid": False, "font.size": 9, "xtick.labelsize": 8, "ytick.labelsize": 8}
WIDTH, PANEL_HEIGHT, LEGEND_HEIGHT = 10.0, 3.6, 0.26  # inches; at 120 dots each a page of 1280 pixels holds the width
DOTS = 100  # of a Grid's cells, an inch
LETTER, ABOVE, BELOW, BESIDE = 0.085, 0.4, 0.5, 0.45  # inches: a letter of a label, what else stands around a grid
GAP, BAR, LOWEST = 0.3, 0.6, 1.0  # inches: after a grid, for the bar of colours, its least height
LONG = 48  # letters of a name that has half a row of the legend, at most
MARKED = 40  # points at most, for a line to mark each
LABEL = 14  # pixels that a label needs


def curves(path: Path, panels: Sequence[Curves]) -> None:
    """Panels two abreast, each line in its look, with a legend below."""
    names = list(panels[0].lines)
    abreast = 2 if longest(names) <= LONG and len(names) > 1 else 1
    size = WIDTH, PANEL_HEIGHT * math.ceil(len(panels) / 2) + LEGEND_HEIGHT * math.ceil(len(names) / abreast)
    with figure(path, size, STYLE, "constrained") as drawn:
        num_rows, num_columns = math.ceil(len(panels) / 2), min(2, len(panels))
        axes = list(drawn.subplots(num_rows, num_columns, squeeze=False).flat)
        for ax, panel in zip(axes, panels, strict=False):
            draw_curves(ax, panel)
        for ax in axes[len(panels) :]:
            ax.remove()
        drawn.legend(axes[0].get_lines(), names, loc="outside lower center", ncols=abreast)


def draw_curves(ax: Axes, panel: Curves) -> None:
    """One panel of lines."""
    for look, (places, values) in zip(looks(), panel.lines.values(), strict=False):
        marker = look["marker"] if len(places) <= MARKED else None
        ax.plot(list(places), np.array(values, dtype=float), **look | {"marker": marker})
    ax.set(title=panel.title, xlabel=panel.x_title, ylabel=panel.y_title)
    if panel.ticks:
        ax.set_xticks(range(len(panel.ticks)), panel.ticks)
        ax.set_xlim(-0.4, len(panel.ticks) - 0.6)
    else:
        counted = all(float(place).is_integer() for places, _ in panel.lines.values() for place in places)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=counted))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    if panel.top is not None:
        ax.set_ylim(0, panel.top)


def grids(path: Path, panels: Sequence[Grid]) -> None:
    """Grids on one scale side by side, with the label of every row and column that there is room for.

    Placed by hand: matplotlib's own layouts let the labels of square cells overlap.
    """
    sizes = [(len(panel.columns) * panel.cell / DOTS, len(panel.rows) * panel.cell / DOTS) for panel in panels]
    lefts = [BESIDE + LETTER * longest(panel.rows) for panel in panels]
    widths = [max(width, LETTER * len(panel.title)) + GAP for (width, _), panel in zip(sizes, panels, strict=True)]
    below = BELOW + LETTER * max(longest(panel.columns) for panel in panels)
    tallest = max(*(height for _, height in sizes), LOWEST)
    size = sum(lefts) + sum(widths) + BAR, ABOVE + tallest + below
    with figure(path, size, GRID_STYLE, None) as drawn:
        right = 0.0
        for panel, (width, height), left, taken in zip(panels, sizes, lefts, widths, strict=True):
            ax = drawn.add_axes(box(size, right + left, below + tallest - height, width, height))
            image = draw_grid(ax, panel)
            right += left + taken
        drawn.colorbar(image, cax=drawn.add_axes(box(size, right, below, GAP / 2, tallest)))


def box(size: tuple[float, float], *inches: float) -> tuple[float, float, float, float]:
    """A box (left, bottom, width, height) in shares of the figure's size."""
    left, bottom, width, height = inches
    return left / size[0], bottom / size[1], width / size[0], height / size[1]


def draw_grid(ax: Axes, panel: Grid) -> AxesImage:
    """One grid, dark for much."""
    step = math.ceil(LABEL / panel.cell)
    ax.set_title(panel.title, loc="left")
    ax.set(xlabel=panel.x_title, ylabel=panel.y_title)
    ax.set_xticks(range(0, len(panel.columns), step), panel.columns[::step], rotation=90)
    ax.set_yticks(range(0, len(panel.rows), step), panel.rows[::step])
    if panel.decimals is not None:
        middle = (panel.lowest + panel.highest) / 2
        for (row, column), value in np.ndenumerate(panel.values):
            colour = "white" if value > middle else "black"
            ax.text(column, row, f"{value:.{panel.decimals}f}", ha="center", va="center", color=colour, size="small")
    return ax.imshow(panel.values, cmap="Blues", vmin=panel.lowest, vmax=panel.highest, interpolation="nearest")


def longest(labels: Sequence[str]) -> int:
    """Letters of the longest label."""
    return max(map(len, labels), default=0)


@contextmanager
def figure(path: Path, size: tuple[float, float], style: dict[Any, Any], layout: Layout) -> Iterator[Figure]:
    """A figure to draw on, `size` in inches, which is written to `path`."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own matplotlibrc says
        matplotlib.rcParams.update(style)
        drawn = Figure(figsize=size, layout=layout)
        yield drawn
        with new_file(path, "wb") as file, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box stands for it
            drawn.savefig(file, format="png", metadata={"Software": None})  # it would hold matplotlib's version


def looks() -> Iterator[dict[str, Any]]:
    """Colour, dashes and marker of one line after the other."""
    for index, marker in enumerate(cycle(MARKERS)):
        dashes = DASHES[index // len(COLOURS) % len(DASHES)]
        yield {"color": COLOURS[index % len(COLOURS)], "linestyle": dashes, "marker": marker}
