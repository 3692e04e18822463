"""Figures: what they show, and that the same numbers give the same bytes."""

from itertools import islice

import matplotlib
import pytest
from matplotlib import image

from pipeline.evaluation import pictures

ROWS = [{"update": str(n), "validation_loss": str(4 / n), "validation_bleu": str(n)} for n in (1, 2, 3)]
LENGTHS = [
    {"part": part, "bucket": bucket, "sentences": "1200", "bleu": score}
    for part in ("test", "other", "third")
    for bucket, score in (("1-10", "40.5"), ("11+", "30.5"))
]


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


def test_the_same_numbers_give_the_same_bytes_whatever_the_user_set(tmp_path):
    pictures.learning_curves(tmp_path / "a.png", {"one": ROWS})
    with matplotlib.rc_context({"lines.linewidth": 9, "savefig.dpi": 30}):
        pictures.learning_curves(tmp_path / "b.png", {"one": ROWS})
        assert matplotlib.rcParams["lines.linewidth"] == 9
    first = (tmp_path / "a.png").read_bytes()
    assert (tmp_path / "b.png").read_bytes() == first
    assert set(chunks(first)) == {b"IHDR", b"pHYs", b"IDAT", b"IEND"}  # no text, no time


def test_curves_show_loss_and_bleu_of_every_system(tmp_path, drawn):
    pictures.learning_curves(tmp_path / "a.png", {"one": ROWS, "two": ROWS[:2]})
    loss, bleu = drawn[0].axes
    assert (loss.get_xlabel(), loss.get_ylabel()) == ("updates", "validation loss (nats per token)")
    assert (bleu.get_xlabel(), bleu.get_ylabel()) == ("updates", "validation BLEU (greedy)")
    assert [line.get_xydata().tolist() for line in loss.get_lines()] == [[[1, 4], [2, 2], [3, 4 / 3]], [[1, 4], [2, 2]]]
    assert bleu.get_ylim()[0] == 0
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["one", "two"]


def test_bleu_that_was_not_measured_has_no_panel(tmp_path, drawn):
    rows = [{"update": "1", "validation_loss": "2"}, {"update": "2", "validation_loss": "1"}]
    pictures.learning_curves(tmp_path / "a.png", {"one": rows})
    assert [ax.get_ylabel() for ax in drawn[0].axes] == ["validation loss (nats per token)"]


def test_scores_by_length_have_a_panel_for_each_part_on_one_scale(tmp_path, drawn):
    pictures.scores_by_length(tmp_path / "a.png", {"one": LENGTHS}, ["test", "other", "third"])
    axes = drawn[0].axes
    assert [ax.get_title() for ax in axes] == ["test", "other", "third"]
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["1-10\n(1,200)", "11+\n(1,200)"]
    assert axes[2].get_lines()[0].get_ydata().tolist() == [40.5, 30.5]
    assert all(ax.get_ylim() == (0, pytest.approx(1.06 * 40.5)) for ax in axes)


def test_scores_of_zero_can_be_drawn(tmp_path):
    pictures.scores_by_length(tmp_path / "a.png", {"one": [row | {"bleu": "0"} for row in LENGTHS]}, ["test"])
    assert image.imread(tmp_path / "a.png").shape[1] == 1200  # dots: fits a page of 1280


def test_looks_differ():
    looks = [tuple(look.values()) for look in islice(pictures.looks(), 28)]
    assert len(set(looks)) == 28
