"""What a training remembers of itself, by hand."""

import json

import pytest

from pipeline.encoding.batching import START, Position
from pipeline.training.loop import Step
from pipeline.training.state import TrainState


def step(update, *, num_real_positions=15, num_positions=20):
    return Step(Position(update, 0, update - 1), 2.0, 0.5, 9, 0.1, num_real_positions, num_positions)


def validated(losses):
    """A state whose validations, one each two updates, had these losses."""
    state = TrainState()
    for number, loss in enumerate(losses, 1):
        state = state.with_validation(step(2 * number), {"validation_loss": loss})
    return state


def test_a_state_goes_through_json():
    state = validated([3.0, 1.0])._replace(saved=(2, 4))
    assert TrainState.from_json(json.loads(json.dumps(state._asdict()))) == state
    assert TrainState.from_json(json.loads(json.dumps(TrainState()._asdict()))) == TrainState()


def test_a_state_counts():
    state = TrainState().after(step(1), 9).after(step(2, num_real_positions=5, num_positions=20), 9)
    assert state.next == Position(update=3, epoch=0, offset=2)
    assert (state.num_real_positions, state.num_positions, state.padding_share()) == (20, 40, 0.5)
    assert TrainState().next == START == Position(1, 0, 0)


def losses(state, *values, every):
    """The state after more updates of these losses."""
    for loss in values:
        update = state.next.update
        made = Step(Position(update, 0, update - 1), loss, 0.5, 9, 0.1, 15, 20)
        state = state.after(made, every)
    return state


def test_the_curve_of_the_loss_by_hand():
    state = losses(TrainState(), 1.0, 2.0, 6.0, every=2)
    assert state.curve == ({"update": 2, "train_loss": 1.5},)
    assert state.loss_sum == 6.0
    assert state.whole_curve() == (*state.curve, {"update": 3, "train_loss": 6.0})  # patience ran out here
    state = losses(state, 2.0, every=2)
    assert state.curve == state.whole_curve() == ({"update": 2, "train_loss": 1.5}, {"update": 4, "train_loss": 4.0})
    assert TrainState().whole_curve() == ()


@pytest.mark.parametrize("cut", [1, 3, 4, 10])
def test_the_curve_goes_through_json_at_any_update(cut):
    values = [1 / number for number in range(1, 12)]
    whole = losses(TrainState(), *values, every=3)
    state = losses(TrainState(), *values[:cut], every=3)
    state = TrainState.from_json(json.loads(json.dumps(state._asdict())))
    assert losses(state, *values[cut:], every=3) == whole


def test_a_validation_is_a_row():
    state = TrainState().with_validation(step(4), {"validation_loss": 1.5, "validation_bleu": 20.0})
    assert state.history == (
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
    state = validated([3.0, 1.0, 2.0, 1.0, 5.0])  # updates 2, 4, 6, 8, 10
    assert state.best(1) == [4]
    assert state.best(3) == [4, 8, 6]
    assert state.best(0) == []
    assert state.best(9) == [4, 8, 6, 2, 10]
    assert TrainState().best(2) == []


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
    assert validated(losses).is_out_of_patience(patience) is exhausted
