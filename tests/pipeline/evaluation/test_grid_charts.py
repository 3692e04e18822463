"""Charts of grids: their labels, their menus, and that plotly accepts them."""

import numpy as np

from pipeline.evaluation import charts, grid_charts
from pipeline.evaluation.panels import Grid

SQUARE = Grid(
    "", "source", "target", ["▁a", "▁a"], ["<s>", "&"], np.array([[0.25, 0.75], [1.0, 0.0]]), 0.0, 1.0, 22, None
)
WIDE = SQUARE._replace(columns=["x", "y", "</s>"], values=np.full((2, 3), 0.3333), x_title="read")


def test_one_grid_has_no_menu():
    chart = grid_charts.grids({"one": {"only": SQUARE}})
    assert "updatemenus" not in chart["layout"]
    assert [trace["z"] for trace in chart["data"]] == [[[0.25, 0.75], [1.0, 0.0]]]
    assert (chart["data"][0]["zmin"], chart["data"][0]["zmax"]) == (0.0, 1.0)
    assert charts.html(chart, "grid") == charts.html(grid_charts.grids({"one": {"only": SQUARE}}), "grid")


def test_labels_stand_at_their_places_and_may_repeat():
    layout = grid_charts.grids({"one": {"only": SQUARE}})["layout"]
    assert (layout["yaxis"]["tickvals"], layout["yaxis"]["ticktext"]) == ([0, 1], ["▁a", "▁a"])
    assert layout["xaxis"]["ticktext"] == ["&lt;s&gt;", "&amp;"]
    assert layout["yaxis"]["range"] == [1.5, -0.5]  # the first row on top
    assert (layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"]) == ("source", "target")


def test_a_fine_grid_has_the_labels_that_there_is_room_for():
    names = [*map(str, range(7))]
    layout = grid_charts.grids({"": {"": Grid("", "", "", names, names, np.eye(7), 0, 1, 5, None)}})["layout"]
    assert layout["xaxis"]["tickvals"] == [0, 3, 6]
    assert layout["xaxis"]["ticktext"] == ["0", "3", "6"]


def test_values_can_be_written_into_the_cells():
    assert "texttemplate" not in grid_charts.trace(SQUARE)
    assert grid_charts.trace(SQUARE._replace(decimals=3))["texttemplate"] == "%{z:.3f}"


def test_the_first_menu_changes_values_and_labels_of_all_grids():
    other = SQUARE._replace(values=1 - SQUARE.values)
    choices = {"<wide>": {"a": WIDE, "b": WIDE}, "square": {"a": SQUARE, "b": other}}
    chart = grid_charts.grids(choices)
    assert [trace["visible"] for trace in chart["data"]] == [True, False]
    assert chart["data"][1]["z"] == other.values.tolist()
    first, second = chart["layout"]["updatemenus"]
    assert [button["label"] for button in first["buttons"]] == ["&lt;wide&gt;", "square"]
    assert first["active"] == 1  # the last is shown
    values, moved = first["buttons"][0]["args"]
    assert values["z"] == [WIDE.values.tolist()] * 2
    assert "read" in values["hovertemplate"]
    assert moved["xaxis.ticktext"] == ["x", "y", "&lt;/s&gt;"]
    assert moved["xaxis.range"] == [-0.5, 2.5]
    assert moved["xaxis.title.text"] == "read"
    assert second["active"] == 0
    charts.html(chart, "grid")


def test_the_second_menu_shows_one_of_the_grids():
    menu = grid_charts.grids({"one": {"a": SQUARE, "b": SQUARE}})["layout"]["updatemenus"]
    assert [[button["label"], button["args"]] for button in menu[0]["buttons"]] == [
        ["a", [{"visible": [True, False]}]],
        ["b", [{"visible": [False, True]}]],
    ]


def test_the_plot_has_room_for_the_largest_grid():
    small, large = ({"one": {"a": SQUARE}}, {"one": {"a": SQUARE}, "two": {"a": WIDE}})

    def plot(choices):
        layout = grid_charts.grids(choices)["layout"]
        margin = layout["margin"]
        return layout["width"] - margin["l"] - margin["r"], layout["height"] - margin["t"] - margin["b"]

    assert plot(small) == (2 * 22, 2 * 22)
    assert plot(large) == (3 * 22, 2 * 22)
