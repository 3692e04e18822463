"""A training that was stopped goes on bit for bit, whatever stopped it and wherever."""

import pytest
import torch

from pipeline.common import files
from pipeline.models.transformer_postnorm import Arch, Model
from pipeline.training import checkpoints as checkpoints_module
from pipeline.training.batching import Position, load_batches
from pipeline.training.checkpoints import Checkpoints
from pipeline.training.loop import Step, train
from pipeline.training.ranks import Ranks
from pipeline.training.sampler import BatchSampler
from pipeline.training.state import TrainState
from tests.toys import samples

LINES = samples.sentences(40, seed=1)
PART = samples.encoded(LINES, LINES[::-1])
TRAINING = samples.training(updates=13)
MADE_BY = {"code": "a", "torch": "1", "threads": "1"}
LOSSES = {4: 3.0, 8: 1.0, 12: 2.0, 13: 1.5}  # of the validations
ARCH = Arch.model_validate(samples.ARCH | {"dropout": 0.3, "encoder_layers": 1, "decoder_layers": 1})
RECURRENT_WAY = {
    "optimizer": {"kind": "adadelta", "rho": 0.95, "epsilon": 1e-6},
    "schedule": {"kind": "constant", "learning_rate": 1.0},
    "batches": {"kind": "sentences", "sentences_per_update": 6, "pool_pairs": 18},
}


def identity(made_by):
    return {"params": {}, "inputs": {}, "made_by": made_by}


def start(folder, *, made_by=MADE_BY, seed=7, **kinds):
    torch.manual_seed(seed)
    model, learning = Model(ARCH, source_size=11, target_size=11), samples.learning(**kinds)
    checkpoints = Checkpoints(folder, identity(made_by), lambda state, params: True, TRAINING)
    return model, learning, learning.optimizer.build(model), checkpoints


def run(folder, *, kill_after=None, **kinds):
    """What the stage does: resume, train, judge, save; all of it ends once `kill_after` is done."""
    model, learning, optimizer, checkpoints = start(folder, **kinds)
    state = checkpoints.resume(model, optimizer, Ranks())
    sampler = BatchSampler(PART, TRAINING, learning.batches, {}, seed=1)
    updates = load_batches(sampler, PART, state.next, TRAINING.updates)
    steps = train(model, optimizer, updates, learning, width=16, updates=13, seed=1, ranks=Ranks())
    for step in steps:
        state = state.after(step)
        if step.update in LOSSES:
            state = state.with_validation({"validation_loss": LOSSES[step.update]})
        if step.update % 2 == 0 or step.update == 13:
            state = checkpoints.save(model, optimizer, state, keep=True, write=True)
        if step.update == kill_after:
            break
    checkpoints.wait()
    return state


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    return folder, run(folder)


@pytest.mark.parametrize("kills", [(1,), (5,), (8,), (12,), (13,), (3, 4, 9), (6, 7, 7, 13)])
def test_resumed_is_uninterrupted_bit_for_bit(tmp_path, uninterrupted, kills):
    """Files hold weights, the optimizer's tensors, the state; other random weights at the start do not matter."""
    for seed, kill in enumerate(kills):
        run(tmp_path, kill_after=kill, seed=7 if seed == 0 else seed)
        torch.rand(100)
    assert run(tmp_path, seed=99 if kills != (1,) else 7) == uninterrupted[1]
    assert contents(tmp_path) == contents(uninterrupted[0])


def test_updates_of_sentences_with_adadelta_resume_bit_for_bit_too(tmp_path):
    state = run(tmp_path / "whole", **RECURRENT_WAY)
    for kill in (5, 9):
        run(tmp_path / "killed", kill_after=kill, **RECURRENT_WAY)
    assert run(tmp_path / "killed", **RECURRENT_WAY) == state
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_another_number_of_threads_is_said(tmp_path, capsys):
    run(tmp_path, kill_after=7)
    model, _, optimizer, checkpoints = start(tmp_path, made_by=MADE_BY | {"threads": "2"})
    assert checkpoints.resume(model, optimizer, Ranks()).update == 6
    assert "1 threads so far, 2 from now on; results will differ by rounding" in capsys.readouterr().err


def test_without_any_whole_state_it_starts_afresh(tmp_path, capsys):
    (tmp_path / "open").mkdir()
    (tmp_path / "state.safetensors").write_bytes(b"")
    (tmp_path / "open/state.safetensors").write_bytes(b"half a header")
    model, _, optimizer, checkpoints = start(tmp_path)
    before = [weight.clone() for weight in model.parameters()]
    assert checkpoints.resume(model, optimizer, Ranks()) == TrainState()
    assert capsys.readouterr().err.count(": not a whole file of weights (") == 2
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    run(tmp_path, kill_after=2)
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["state.safetensors", "update_00000002.safetensors"]


def test_the_last_and_the_best_are_kept_and_published(tmp_path, uninterrupted):
    folder, state = uninterrupted
    assert state.saved == (8, 12, 13)  # 8 had the lowest loss
    names = [f"update_{update:08d}.safetensors" for update in (8, 12, 13)]
    assert sorted(contents(folder)) == ["state.safetensors", *names]
    start(folder)[3].publish(tmp_path / "out", state)
    assert files.read_json(tmp_path / "out/checkpoints.json") == {"last": names[1:], "best": names[:1]}
    assert all((tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes() for name in names)


def test_a_full_disk_leaves_the_state_before_it(tmp_path, monkeypatch):
    model, _, optimizer, checkpoints = start(tmp_path)
    states = [TrainState(next=Position(update + 1, 0, 0, update)) for update in (1, 2)]
    checkpoints.save(model, optimizer, states[0], keep=True, write=True)
    checkpoints.wait()
    before = contents(tmp_path)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    checkpoints.save(model, optimizer, states[1], keep=True, write=True)
    with pytest.raises(OSError, match="No space left") as caught:
        checkpoints.wait()
    assert caught.value.filename == str(tmp_path / "update_00000002.safetensors")
    assert contents(tmp_path) == before


def test_a_state_is_overdue_after_ten_minutes(tmp_path, monkeypatch):
    checkpoints = start(tmp_path)[3]
    now = checkpoints.saved_at
    for seconds, overdue in ((599, False), (601, True)):
        monkeypatch.setattr(checkpoints_module.time, "monotonic", lambda seconds=seconds: now + seconds)
        assert checkpoints.is_overdue() is overdue


def step(update, loss=2.0):
    return Step(Position(update, 0, 0, update - 1), loss, 0.5, 9, 0.1, 15, 20)


def test_curve_of_the_training_loss_by_hand(monkeypatch):
    """From 4 rows on each is the mean of two; so 5 updates have the rows that they have in a longer training."""
    monkeypatch.setattr("pipeline.training.state.CURVE_POINTS", 2)
    state = TrainState()
    for update, loss in enumerate((1.0, 2.0, 6.0, 4.0, 9.0), 1):
        state = state.after(step(update, loss))
    assert state.curve == ({"update": 2, "train_loss": 1.5}, {"update": 4, "train_loss": 5.0})
    assert state.whole_curve() == (*state.curve, {"update": 5, "train_loss": 9.0})  # patience ran out here
    assert (state.next, state.num_real_positions, state.num_positions) == (Position(6, 0, 0, 5), 75, 100)


@pytest.mark.parametrize(
    ("losses", "patience", "exhausted"),
    [
        ([], 1, False),
        ([3.0, 2.0], 1, False),
        ([3.0, 3.0], 1, True),  # as good is no better
        ([3.0, 4.0], 2, False),
        ([3.0, 4.0, 3.5], 2, True),
        ([3.0, 4.0, 5.0, 6.0], 0, False),
    ],
)
def test_patience_by_hand(losses, patience, exhausted):
    state = TrainState()
    for number, loss in enumerate(losses, 1):
        state = state._replace(next=Position(2 * number + 1, 0, 0, 0), last=(2.0, 0.1, 0.5))
        state = state.with_validation({"validation_loss": loss})
    assert state.is_out_of_patience(patience) is exhausted
    assert state.best(1) == ([2 * (losses.index(min(losses)) + 1)] if losses else [])
