"""The page of a training's parts."""

import re

import numpy as np
import pytest

from pipeline.evaluation import anatomy
from pipeline.evaluation.anatomy import Anatomy, Mask

ANATOMY = Anatomy(
    positions=np.sin(np.arange(10)[:, None] / 10.0 ** np.arange(4)),
    dimensions=[1, 3],
    updates=[1, 10, 100],
    rates={"noam <a>": np.array([1e-4, 1e-3, 3e-4]), "adadelta": np.ones(3), "constant": np.full(3, 5e-4)},
    pieces=["<pad>", "▁é", "b"],
    gold=["▁é", "<pad>"],
    targets={"all": np.array([[0.05, 0.9, 0.05], [0, 0, 0]]), "others": np.array([[0, 0.9, 0.1], [0, 0, 0]])},
    confidence=np.array([0.0, 0.5, 1.0]),
    penalties={"none": np.array([np.inf, 0.69, 0.0]), "all": np.array([np.inf, 0.8, 2.0])},
    masks={
        "causal": Mask(["<s>", "a"], ["<s>", "a"], np.tri(2, dtype=bool)),
        "padding": Mask(["sentence 1"], ["1", "2", "3"], np.array([[True, True, False]])),
    },
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return anatomy.write(tmp_path_factory.mktemp("written") / "anatomy", ANATOMY)


def test_the_page_shows_every_part(written, read_page):
    page = read_page(written)
    assert page.all("div", "id") == [
        "position_curves",
        "positions",
        "rates_1",
        "rates_2",
        "targets",
        "penalties",
        "mask_1",
        "mask_2",
    ]
    assert page.text("h2") == "Positional encodingsLearning-rate schedulesLabel smoothingMasks"
    assert page.text("h3") == "causalpadding"
    assert page.all("script", "src") == ["plotly.min.js"]


def test_every_figure_has_its_png(written, read_page):
    pictures = read_page(written).all("img", "src")
    assert pictures == [f"{name}.png" for name in read_page(written).all("div", "id")]
    assert sorted([*pictures, "index.html", "plotly.min.js"]) == sorted(path.name for path in written.parent.iterdir())


def test_the_same_numbers_give_the_same_bytes(written, tmp_path):
    other = anatomy.write(tmp_path / "other", ANATOMY)
    for path in written.parent.iterdir():
        assert (other.parent / path.name).read_bytes() == path.read_bytes()


def test_the_readings_of_label_smoothing_can_be_chosen(written):
    text = written.read_text(encoding="utf-8")
    assert re.findall(r'"label":"([^"]*)"', text) == ["all", "others"]


def test_rates_share_an_axis_that_shows_them_all():
    groups = list(anatomy.alike({"b": np.array([1e-3]), "c": np.array([1.0]), "a": np.array([1e-4, 0.0])}))
    assert [list(group) for group in groups] == [["a", "b"], ["c"]]
