"""The pictures of docs/models/: cut between two grids, in few colours, one of each that the pages show."""

import re

import numpy as np
from PIL import Image

from docs import pictures
from pipeline.evaluation import pictures as drawing
from pipeline.evaluation.panels import Grid


def test_a_cut_is_between_two_grids(tmp_path):
    grid = Grid("one", "source", "target", ["a", "b"], ["c", "d"], np.eye(2), 0.0, 1.0, 40, None)
    drawing.grids(tmp_path / "two.png", [grid, grid])
    with Image.open(tmp_path / "two.png") as picture:
        edge = pictures.blank_column(picture, (picture.width - pictures.BAR) // 2)
        halves = [picture.crop(box) for box in ((0, 0, edge, picture.height), (edge, 0, picture.width, picture.height))]
        dark = [(np.asarray(half.convert("L")) < 60).sum() for half in halves]
    assert abs(edge - (picture.width - pictures.BAR) / 2) < 20
    assert min(dark) > 0.7 * max(dark)  # each half has its grid, the second one the bar, too


def test_a_picture_is_small_and_looks_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "docs/models")
    shades = np.random.default_rng(1).integers(0, 255, (40, 1, 1)).repeat(60, axis=1).repeat(3, axis=2)
    picture = Image.fromarray(shades.astype("uint8"))
    pictures.FOLDER.mkdir(parents=True)
    pictures.save(picture, pictures.FOLDER / "a.png")
    with Image.open(pictures.FOLDER / "a.png") as found:
        assert found.mode == "P"
        assert np.abs(np.asarray(found.convert("RGB")).astype(int) - shades).max() <= 4


def test_the_pages_show_exactly_the_pictures_that_are_drawn():
    drawn = {*(f"{model}.png" for model in (*pictures.RECURRENT, *pictures.TRANSFORMERS))}
    drawn |= {f"{model}_self.png" for model in pictures.TRANSFORMERS}
    assert {path.name for path in (pictures.ROOT / "docs/models").glob("*.png")} == drawn
    pages = "".join(path.read_text(encoding="utf-8") for path in (pictures.ROOT / "docs/models").glob("*.md"))
    assert set(re.findall(r"\]\((\w+\.png)\)", pages)) == drawn
    assert pictures.SENTENCE in (pictures.ROOT / "docs/six-models.md").read_text(encoding="utf-8")
