"""Sentences and what their models attended to, as read from files."""

import json

import numpy as np
import pytest

from pipeline.evaluation.attended import Attended, read

RECORD = {"line": 7, "source": ["▁a", "</s>"], "target": ["▁x", "▁y", "</s>"], "text": "x y"}
WEIGHTS = {
    "attention": [[[0.5, 0.5]] * 3],
    "encoder 1": [[[1.0, 0.0]] * 2] * 4,
    "decoder 1": [[[1.0, 0.0, 0.0]] * 3],
    "cross 2": [[[0.25, 0.75]] * 3] * 2,
}


def test_a_file_gives_its_sentences_and_their_part(tmp_path):
    path = tmp_path / "compositional.json"
    path.write_text(json.dumps([RECORD | {"weights": WEIGHTS}, RECORD | {"weights": {}}]), encoding="utf-8")
    first, second = read(path)
    assert (first.part, first.line, first.text) == ("compositional", 7, "x y")
    assert first.weights["cross 2"].shape == (2, 3, 2)
    assert first.weights["cross 2"][1, 0].tolist() == [0.25, 0.75]
    assert second.weights == {}


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("attention", RECORD["target"], RECORD["source"]),
        ("encoder 1", RECORD["source"], RECORD["source"]),
        ("decoder 1", RECORD["target"], ["<s>", "▁x", "▁y"]),
        ("cross 2", RECORD["target"], RECORD["source"]),
    ],
)
def test_rows_and_columns_have_their_labels(name, rows, columns):
    sentence = Attended.of(RECORD | {"weights": WEIGHTS})
    assert sentence.rows(name) == rows
    assert sentence.columns(name) == columns
    assert sentence.weights[name].shape[1:] == (len(rows), len(columns))


def test_weights_that_fit_no_labels_are_a_bug():
    with pytest.raises(AssertionError, match=r"cross 1.*\(1, 2, 2\).*\(3, 2\)"):
        Attended.of(RECORD | {"weights": {"cross 1": np.zeros((1, 2, 2))}})
