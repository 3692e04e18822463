"""What a training remembers of itself, by hand."""

import json

import pytest

from pipeline.encoding.batching import Position
from pipeline.training.loop import Step
from pipeline.training.record import START, Record


def step(update, *, real=15, computed=20):
    return Step(Position(update, 0, update - 1), 2.0, 0.5, 9, 0.1, real, computed)


def judged(losses):
    """A record whose validations, one each two updates, had these losses."""
    record = Record()
    for number, loss in enumerate(losses, 1):
        record = record.judged(step(2 * number), {"validation_loss": loss})
    return record


def test_a_record_goes_through_json():
    record = judged([3.0, 1.0])._replace(saved=(2, 4))
    assert Record.of(json.loads(json.dumps(record._asdict()))) == record
    assert Record.of(json.loads(json.dumps(Record()._asdict()))) == Record()


def test_a_record_counts():
    record = Record().after(step(1)).after(step(2, real=5, computed=20))
    assert record.next == Position(update=3, epoch=0, offset=2)
    assert (record.real, record.computed, record.padding_share()) == (20, 40, 0.5)
    assert Record().next == START == Position(1, 0, 0)


def test_a_validation_is_a_row():
    record = Record().judged(step(4), {"validation_loss": 1.5, "validation_bleu": 20.0})
    assert record.history == (
        {
            "update": 4,
            "train_loss": 2.0,
            "learning_rate": 0.1,
            "grad_norm": 0.5,
            "validation_loss": 1.5,
            "validation_bleu": 20.0,
        },
    )


def test_best_by_hand():
    record = judged([3.0, 1.0, 2.0, 1.0, 5.0])  # updates 2, 4, 6, 8, 10
    assert record.best(1) == [4]
    assert record.best(3) == [4, 8, 6]
    assert record.best(0) == []
    assert record.best(9) == [4, 8, 6, 2, 10]
    assert Record().best(2) == []


@pytest.mark.parametrize(
    ("losses", "patience", "exhausted"),
    [
        ([], 1, False),
        ([3.0], 1, False),
        ([3.0, 2.0], 1, False),
        ([3.0, 3.0], 1, True),  # as good is no better
        ([3.0, 4.0], 2, False),
        ([3.0, 4.0, 3.5], 2, True),
        ([3.0, 4.0, 2.0], 2, False),
        ([3.0, 4.0, 5.0, 6.0], 0, False),
    ],
)
def test_exhausted_by_hand(losses, patience, exhausted):
    assert judged(losses).exhausted(patience) is exhausted
