"""PNG files: what they show, and that the same numbers give the same bytes."""

from itertools import islice, pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib import image

from pipeline.evaluation import pictures
from pipeline.evaluation.panels import Curves, Grid

CURVES = Curves("", "updates", "loss", {"one": ([1, 2, 3], [4, 2, None]), "two": ([1, 2], [3, 1])}, [], None)
LENGTHS = Curves("test", "words", "BLEU", {"one": (range(2), [40.0, 30.0])}, ["1-10\n(1,200)", "11+\n(7)"], 42.0)
GRID = Grid("cross", "source", "target", ["▁a", "</s>"], ["▁é", "$x$", "</s>"], np.eye(2, 3), 0.0, 1.0, 22, None)


def chunks(png):
    """The kinds of the chunks of a PNG file."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    kinds, place = [], 8
    while place < len(png):
        kinds.append(png[place + 4 : place + 8])
        place += 12 + int.from_bytes(png[place : place + 4], "big")
    return kinds


@pytest.fixture
def drawn(monkeypatch):
    """The figures drawn, to ask what they show."""
    figures = []

    class Figure(pictures.Figure):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            figures.append(self)

    monkeypatch.setattr(pictures, "Figure", Figure)
    return figures


@pytest.mark.parametrize(("draw", "panel"), [(pictures.curves, CURVES), (pictures.grids, GRID)])
def test_the_same_numbers_give_the_same_bytes_whatever_the_user_set(tmp_path, draw, panel):
    draw(tmp_path / "a.png", [panel])
    with matplotlib.rc_context({"lines.linewidth": 9, "savefig.dpi": 30, "font.size": 30}):
        draw(tmp_path / "b.png", [panel])
        assert matplotlib.rcParams["lines.linewidth"] == 9
    first = (tmp_path / "a.png").read_bytes()
    assert (tmp_path / "b.png").read_bytes() == first
    assert set(chunks(first)) == {b"IHDR", b"pHYs", b"IDAT", b"IEND"}  # no text, no time


def test_curves_show_every_line_and_one_legend(tmp_path, drawn):
    pictures.curves(tmp_path / "a.png", [CURVES, LENGTHS])
    loss, bleu = drawn[0].axes
    assert (loss.get_xlabel(), loss.get_ylabel(), bleu.get_title()) == ("updates", "loss", "test")
    assert loss.get_lines()[0].get_ydata().tolist() == pytest.approx([4, 2, np.nan], nan_ok=True)
    assert loss.get_lines()[1].get_xydata().tolist() == [[1, 3], [2, 1]]
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["one", "two"]


def test_ticks_and_the_end_of_the_axis_are_those_of_the_panel(tmp_path, drawn):
    pictures.curves(tmp_path / "a.png", [LENGTHS])
    ax = drawn[0].axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1-10\n(1,200)", "11+\n(7)"]
    assert ax.get_ylim() == (0, 42)


def test_counts_have_their_thousands_apart_and_no_fractions(tmp_path, drawn):
    pictures.curves(tmp_path / "a.png", [CURVES._replace(lines={"one": ([1000, 1001], [1, 2])})])
    assert {label.get_text() for label in drawn[0].axes[0].get_xticklabels()} >= {"1,000", "1,001"}
    assert all("." not in label.get_text() for label in drawn[0].axes[0].get_xticklabels())


def test_only_short_lines_mark_their_points(tmp_path, drawn):
    pictures.curves(tmp_path / "a.png", [CURVES._replace(lines={"short": ([1], [1]), "long": (range(41), range(41))})])
    assert [line.get_marker() for line in drawn[0].axes[0].get_lines()] == ["o", "None"]


def test_three_panels_stand_two_abreast(tmp_path, drawn):
    pictures.curves(tmp_path / "a.png", [CURVES] * 3)
    assert len(drawn[0].axes) == 3
    assert image.imread(tmp_path / "a.png").shape[1] == 1200  # dots: fits a page of 1280


def test_a_grid_has_the_label_of_every_row_and_column(tmp_path, drawn):
    pictures.grids(tmp_path / "a.png", [GRID, GRID._replace(title="other")])
    first, second, bar = drawn[0].axes
    assert bar.get_ylim() == (0, 1)
    assert [label.get_text() for label in first.get_xticklabels()] == ["▁é", "$x$", "</s>"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["▁a", "</s>"]
    assert first.images[0].get_array().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert first.images[0].get_clim() == (0, 1)
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("cross", "other")
    assert (first.get_xlabel(), first.get_ylabel()) == ("source", "target")


def test_a_fine_grid_has_the_labels_that_there_is_room_for(tmp_path, drawn):
    names = [*map(str, range(7))]
    pictures.grids(tmp_path / "a.png", [Grid("", "", "", names, names, np.eye(7), 0, 1, 5, None)])
    assert [label.get_text() for label in drawn[0].axes[0].get_xticklabels()] == ["0", "3", "6"]


def test_values_can_be_written_into_the_cells(tmp_path, drawn):
    pictures.grids(tmp_path / "a.png", [GRID._replace(decimals=2), GRID])
    first, second, _ = drawn[0].axes
    assert [(text.get_text(), text.get_color()) for text in first.texts[:2]] == [("1.00", "white"), ("0.00", "black")]
    assert len(first.texts) == 6
    assert len(second.texts) == 0


def test_grids_do_not_overlap(tmp_path, drawn):
    pictures.grids(tmp_path / "a.png", [GRID._replace(title="a title as long as this one"), GRID, GRID])
    places = [ax.get_position() for ax in drawn[0].axes]
    assert all(left.x1 < right.x0 for left, right in pairwise(places))
    assert all(0 < place.x0 < place.x1 < 1 and 0 < place.y0 < place.y1 < 1 for place in places)


@pytest.mark.parametrize(("name", "abreast"), [("a" * 48, 2), ("a" * 49, 1)])
def test_the_legend_of_long_names_has_one_column(tmp_path, drawn, name, abreast):
    pictures.curves(tmp_path / "a.png", [CURVES._replace(lines={name: ([1], [1]), "b": ([1], [1])})])
    assert drawn[0].legends[0]._ncols == abreast


def test_letters_of_many_languages_can_be_drawn(tmp_path, recwarn):
    pictures.grids(tmp_path / "a.png", [GRID._replace(rows=["▁Ça", "ß«»"], columns=["▁Οδ", "ж", "€"])])
    assert not [str(warning.message) for warning in recwarn if issubclass(warning.category, UserWarning)]


def test_looks_differ():
    looks = [tuple(look.values()) for look in islice(pictures.looks(), 28)]
    assert len(set(looks)) == 28
