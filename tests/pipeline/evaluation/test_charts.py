"""Charts of curves: what plotly is told to draw, and that it accepts it."""

import json
import re

import pytest

from pipeline.evaluation import charts
from pipeline.evaluation.panels import Curves

LOSS = Curves("", "updates", "loss", {"a<b": ([100, 200], [4.0, None]), "two": ([100], [float("inf")])}, [], None)
BLEU = Curves(
    "p & q", "words", "BLEU", {"a<b": (range(2), [40.0, 30.0]), "two": ([0], [1.0])}, ["1-2\n(3)", "3+"], 42.0
)


@pytest.mark.parametrize("num_panels", [1, 2, 3])
def test_plotly_accepts_the_chart_and_the_same_one_gives_the_same_bytes(num_panels):
    chart = charts.curves([LOSS, BLEU, LOSS][:num_panels])
    first = charts.html(chart, "curves")
    assert 'id="curves"' in first
    assert charts.html(charts.curves([LOSS, BLEU, LOSS][:num_panels]), "curves") == first
    assert not re.findall(r"(?:src|href)=|https?:", first)  # nothing is loaded from anywhere


def test_every_line_of_every_panel_is_drawn():
    data = charts.curves([LOSS, BLEU])["data"]
    assert [(line["xaxis"], line["yaxis"], line["x"], line["y"]) for line in data] == [
        ("x", "y", [100, 200], [4.0, None]),
        ("x", "y", [100], [None]),
        ("x2", "y2", [0, 1], [40.0, 30.0]),
        ("x2", "y2", [0], [1.0]),
    ]
    assert [line["showlegend"] for line in data] == [True, True, False, False]


def test_text_shows_letter_for_letter():
    layout = charts.curves([LOSS, BLEU])["layout"]
    assert charts.curves([LOSS])["data"][0]["name"] == "a&lt;b"
    assert [note["text"] for note in layout["annotations"]] == ["", "p &amp; q"]
    assert layout["xaxis2"]["ticktext"] == ["1-2<br>(3)", "3+"]
    assert "a&lt;b" in charts.curves([LOSS])["data"][0]["hovertemplate"]


def test_scores_start_from_zero():
    layout = charts.curves([LOSS, BLEU])["layout"]
    assert layout["yaxis2"]["range"] == [0, 42.0]
    assert "range" not in layout["yaxis"]


def test_panels_do_not_overlap():
    layout = charts.curves([LOSS] * 4)["layout"]
    places = [(layout[f"xaxis{n}"]["domain"], layout[f"yaxis{n}"]["domain"]) for n in ("", "2", "3", "4")]
    for index, (x, y) in enumerate(places):
        assert 0 <= x[0] < x[1] <= 1
        assert 0 <= y[0] < y[1] <= 1
        for other_x, other_y in places[:index]:
            assert x[0] >= other_x[1] or x[1] <= other_x[0] or y[0] >= other_y[1] or y[1] <= other_y[0]


def test_the_legend_has_room_for_every_name():
    def height(*names):
        return charts.curves([LOSS._replace(lines={name: ([1], [1.0]) for name in names})])["layout"]["height"]

    assert height("a", "b", "c") == height("a")
    assert height("a" * 70, "b" * 70, "c" * 70) == height("a") + charts.LEGEND  # two abreast
    assert height("a" * 300, "b" * 70, "c" * 70) == height("a") + 2 * charts.LEGEND
    assert height(*"abcdefghijklmnopqrstuvw") > height("a")


def test_markup_in_a_name_cannot_end_the_script():
    line = {"</script><script>alert(1)": ([1], [1.0])}
    text = charts.html(charts.curves([LOSS._replace(lines=line)]), "curves")
    assert text.count("</script>") == 1
    assert json.dumps("alert") not in text


def test_a_narrow_page_has_panels_below_each_other():
    chart = charts.curves([LOSS, BLEU])
    wide, narrow = chart["layout"], chart["narrow"]
    assert wide["xaxis"]["domain"][1] < wide["xaxis2"]["domain"][0]
    assert narrow["xaxis"]["domain"] == narrow["xaxis2"]["domain"] == [0, 1]
    assert narrow["yaxis"]["domain"][0] > narrow["yaxis2"]["domain"][1]
    assert narrow["height"] > wide["height"]
    embedded = json.loads(re.search(r'json">(.*)</script>', charts.html(chart, "curves"))[1])
    assert embedded["narrow"]["height"] == narrow["height"]


def test_embedded_json_comes_back():
    value = {"text": "</script> <!-- \u2028 é", "numbers": [1.5, None]}
    text = charts.embedded(value)
    assert json.loads(text.removeprefix('<script type="application/json">').removesuffix("</script>\n")) == value
    assert text.count("<") == 2
