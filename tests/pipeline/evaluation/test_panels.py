"""What figures show, of the rows that earlier stages left."""

import pytest

from pipeline.evaluation import panels

ROWS = [{"update": str(n), "validation_loss": str(4 / n), "validation_bleu": str(n)} for n in (1, 2, 4)]
LENGTHS = [
    {"part": part, "bucket": bucket, "sentences": "1200", "bleu": score}
    for part in ("test", "other")
    for bucket, score in (("1-10", "40.5"), ("11+", "30.5"))
]


def test_learning_curves_show_loss_and_bleu_of_every_system():
    loss, bleu = panels.learning_curves({"one": ROWS, "two": ROWS[:2]})
    assert (loss.x_title, loss.y_title, loss.top) == ("updates", "validation loss (nats per token)", None)
    assert (bleu.x_title, bleu.y_title, bleu.top) == ("updates", "validation BLEU (greedy)", pytest.approx(1.06 * 4))
    assert loss.lines == {"one": ([1, 2, 4], [4, 2, 1]), "two": ([1, 2], [4, 2])}
    assert bleu.lines == {"one": ([1, 2, 4], [1, 2, 4]), "two": ([1, 2], [1, 2])}


def test_the_training_loss_is_a_panel_of_its_own():
    rows = [{"update": "10", "train_loss": "7.5"}, {"update": "20", "train_loss": "6.25"}]
    panel = panels.train_loss({"one": rows})
    assert (panel.x_title, panel.y_title) == ("updates", "training loss (nats per token, smoothed)")
    assert panel.lines == {"one": ([10, 20], [7.5, 6.25])}


def test_bleu_that_was_not_measured_has_no_panel():
    rows = [{"update": "1", "validation_loss": "2"}, {"update": "2", "validation_loss": "1", "validation_bleu": ""}]
    assert [panel.y_title for panel in panels.learning_curves({"one": rows})] == ["validation loss (nats per token)"]


def test_accuracy_has_a_panel_of_its_own():
    rows = [row | {"validation_accuracy": str(int(row["update"]) / 8)} for row in ROWS]
    *_, accuracy = panels.learning_curves({"one": rows})
    assert (accuracy.y_title, accuracy.top) == ("validation accuracy (share of tokens)", pytest.approx(1.06 * 0.5))
    assert accuracy.lines == {"one": ([1, 2, 4], [0.125, 0.25, 0.5])}


def test_bleu_that_one_validation_did_not_measure_is_a_gap():
    rows = [{"update": "1", "validation_loss": "2", "validation_bleu": ""}, ROWS[1]]
    assert panels.learning_curves({"one": rows})[1].lines == {"one": ([1, 2], [None, 2])}


def test_scores_by_length_have_a_panel_for_each_part_on_one_scale():
    test, other = panels.scores_by_length({"one": LENGTHS}, ["test", "other"])
    assert (test.title, other.title) == ("test", "other")
    assert test.ticks == ["1-10\n(1,200)", "11+\n(1,200)"]
    assert test.lines == {"one": (range(2), [40.5, 30.5])}
    assert test.top == other.top == pytest.approx(1.06 * 40.5)


def test_scores_of_zero_have_an_axis():
    assert panels.scores_by_length({"one": [row | {"bleu": "0"} for row in LENGTHS]}, ["test"])[0].top == 1
