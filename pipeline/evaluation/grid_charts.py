"""Interactive grids for a page, with menus to choose one."""

import math
from collections.abc import Mapping, Sequence

from pipeline.evaluation.charts import COMMON, LETTER, Chart, shown
from pipeline.evaluation.panels import Grid
from pipeline.evaluation.pictures import LABEL, longest
from pipeline.params import flatten

# much as matplotlib's "Blues", which the PNG files have: from little to much
SCALE = [[0.0, "#f7fbff"], [0.25, "#c7dcef"], [0.5, "#72b2d7"], [0.75, "#2879b9"], [1.0, "#08306b"]]
ABOVE, BESIDE, BAR, MENU = 50, 50, 110, 240  # pixels: margins of a plot, its colour bar, a menu

Choices = Mapping[str, Mapping[str, Grid]]


def grids(choices: Choices) -> Chart:
    """One grid at a time: a menu chooses the first name, another the second; no menu if there is one name only.

    Grids of one first name share their labels, and all first names have the same second names. The last first name
    and the first second one are shown to begin with.
    """
    groups = [list(group.values()) for group in choices.values()]
    every = [grid for group in groups for grid in group]
    left, below = (BESIDE + round(LETTER * max(map(longest, names))) for names in zip(*map(labels, every), strict=True))
    num_rows, num_columns = (max(map(len, names)) for names in zip(*map(labels, every), strict=True))
    width, height = num_columns * every[0].cell, num_rows * every[0].cell
    layout: Chart = COMMON | axes(groups[-1][0])
    layout |= {"width": left + max(width, 2 * MENU) + BAR, "height": ABOVE + height + below}
    layout |= {"margin": {"l": left, "r": BAR + max(0, 2 * MENU - width), "t": ABOVE, "b": below}}
    if menus := [*first_menu(choices), *second_menu(choices)]:
        layout["updatemenus"] = menus
    return {"data": [trace(grid) | {"visible": not index} for index, grid in enumerate(groups[-1])], "layout": layout}


def labels(grid: Grid) -> tuple[Sequence[str], Sequence[str]]:
    """Those of its rows and of its columns."""
    return grid.rows, grid.columns


def trace(grid: Grid) -> Chart:
    """The coloured cells of a grid."""
    across, down = shown(grid.x_title), shown(grid.y_title)
    written = {} if grid.decimals is None else {"texttemplate": f"%{{z:.{grid.decimals}f}}"}
    return {
        "type": "heatmap",
        "z": grid.values.tolist(),
        "zmin": grid.lowest,
        "zmax": grid.highest,
        "colorscale": SCALE,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hovertemplate": f"{across} <b>%{{x}}</b><br>{down} <b>%{{y}}</b><br>%{{z:.4~f}}<extra></extra>",
        **written,
    }


def axes(grid: Grid) -> Chart:
    """The axes of a grid: places by number, for labels may repeat, the first row on top."""
    num_rows, num_columns = len(grid.rows), len(grid.columns)
    return {
        "xaxis": axis(grid.x_title, grid.columns, grid.cell) | {"range": [-0.5, num_columns - 0.5], "tickangle": -90},
        "yaxis": axis(grid.y_title, grid.rows, grid.cell) | {"range": [num_rows - 0.5, -0.5]},
    }


def axis(title: str, names: Sequence[str], cell: int) -> Chart:
    """An axis with as many labels as there is room for."""
    step = math.ceil(LABEL / cell)
    ticks = {"tickmode": "array", "tickvals": [*range(0, len(names), step)], "ticktext": [*map(shown, names[::step])]}
    return {
        "title": {"text": shown(title), "standoff": 12},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        **ticks,
    }


def first_menu(choices: Choices) -> list[Chart]:
    """A menu of the first names, which changes the content of all grids."""
    buttons = []
    for name, group in choices.items():
        traces = [trace(grid) for grid in group.values()]
        values = {"z": [one["z"] for one in traces], "hovertemplate": traces[0]["hovertemplate"]}
        moved = flatten(axes(next(iter(group.values()))))
        buttons.append({"label": shown(name), "method": "update", "args": [values, moved]})
    return [menu(buttons, 0) | {"active": len(buttons) - 1}] if len(buttons) > 1 else []


def second_menu(choices: Choices) -> list[Chart]:
    """A menu of the second names, which chooses the visible grid."""
    names = list(next(iter(choices.values())))
    seen = [[name == other for other in names] for name in names]
    buttons = [
        {"label": shown(name), "method": "restyle", "args": [{"visible": one}]}
        for name, one in zip(names, seen, strict=True)
    ]
    return [menu(buttons, MENU if len(choices) > 1 else 0)] if len(buttons) > 1 else []


def menu(buttons: list[Chart], left: int) -> Chart:
    """A menu above the plot, so many pixels from its left end."""
    place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"l": left, "b": 8}}
    return {"type": "dropdown", "buttons": buttons, "active": 0, **place}
