"""A training that was stopped goes on bit for bit, whatever stopped it and wherever."""

import pytest
import torch
from safetensors.torch import load_file

from pipeline import files
from pipeline.encoding.batching import BatchSampler, Position, load_batches
from pipeline.models.transformer_postnorm import Arch, Model
from pipeline.training import checkpoint_file
from pipeline.training.checkpoints import Checkpoints, checkpoint_minutes
from pipeline.training.loop import Step, train
from pipeline.training.ranks import Ranks
from pipeline.training.state import TrainState
from tests.toys import samples

LINES = samples.sentences(40, seed=1)
PART = samples.encoded(LINES, LINES[::-1])
SETTINGS = samples.training(updates=13)
MADE_BY = {"code": "a", "torch": "1"}
LOSSES = {4: 3.0, 8: 1.0, 12: 2.0, 13: 1.5}  # of the validations
ARCH = Arch.model_validate(samples.ARCH | {"dropout": 0.3, "encoder_layers": 1, "decoder_layers": 1})


class Interrupt(Exception):
    """Stands for a kill."""


def step(update, *, num_real_positions=15, num_positions=20):
    return Step(Position(update, 0, update - 1), 2.0, 0.5, 9, 0.1, num_real_positions, num_positions)


def start(folder, seed=7, **kinds):
    torch.manual_seed(seed)
    model = Model(ARCH, source_size=11, target_size=11)
    learning = samples.learning(**kinds)
    checkpoints = Checkpoints(folder, MADE_BY, last=SETTINGS.last_checkpoints, best=SETTINGS.best_checkpoints)
    return model, learning, learning.optimizer.build(model), checkpoints


def follow(folder, *, kill_after=None, seed=7, **kinds):
    """What the stage does: resume, train, judge, save; raises `Interrupt` once `kill_after` is done."""
    model, learning, optimizer, checkpoints = start(folder, seed, **kinds)
    state = checkpoints.resume(model, optimizer, Ranks())
    updates = load_batches(BatchSampler(PART, SETTINGS, learning.batches), PART, state.next, SETTINGS.updates)
    steps = []
    last, seed = SETTINGS.updates, SETTINGS.seed
    for done in train(model, optimizer, updates, learning, width=16, updates=last, seed=seed, ranks=Ranks()):
        steps.append(done)
        state = state.after(done, 2)
        if done.update in LOSSES:
            state = state.with_validation(done, {"validation_loss": LOSSES[done.update]})
        if done.update % SETTINGS.checkpoint_interval == 0 or done.update == SETTINGS.updates:
            state = checkpoints.save(model, optimizer, state, keep=True, write=True)
        if done.update == kill_after:
            checkpoints.wait()
            raise Interrupt
    checkpoints.wait()
    return model, optimizer, state, steps


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    return folder, follow(folder)


@pytest.mark.parametrize("kills", [(1,), (2,), (5,), (8,), (12,), (13,), (3, 4, 9), (6, 7, 7, 13)])
def test_resumed_is_uninterrupted_bit_for_bit(tmp_path, uninterrupted, kills):
    folder, (model, optimizer, state, steps) = uninterrupted
    for kill in kills:
        with pytest.raises(Interrupt):
            follow(tmp_path, kill_after=kill)
    torch.rand(100)  # nor does it matter where torch's generator stands
    again_model, again_optimizer, again, again_steps = follow(tmp_path)
    assert again == state
    assert again_steps == steps[len(steps) - len(again_steps) :]
    assert len(again_steps) == 13 - (kills[-1] if kills[-1] == 13 else kills[-1] // 2 * 2)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again_model.state_dict()[name]), name
    for ours, theirs in zip(model.parameters(), again_model.parameters(), strict=True):
        first, second = optimizer.state[ours], again_optimizer.state[theirs]
        assert first.keys() == second.keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert all(torch.equal(first[key], second[key]) for key in first)
    assert contents(tmp_path) == contents(folder)


def test_the_recurrent_papers_way_resumes_bit_for_bit_too(tmp_path):
    """Adadelta, whose rate comes from the schedule like any other's, and updates of so many sentences."""
    kinds = {
        "optimizer": {"kind": "adadelta", "rho": 0.95, "epsilon": 1e-6},
        "schedule": {"kind": "constant", "learning_rate": 1.0},
        "batches": {"kind": "sentences", "sentences_per_update": 6, "pool_pairs": 18},
    }
    model, optimizer, state, _ = follow(tmp_path / "whole", **kinds)
    for kill in (1, 5, 9):
        with pytest.raises(Interrupt):
            follow(tmp_path / "killed", kill_after=kill, **kinds)
    again_model, again_optimizer, again, steps = follow(tmp_path / "killed", **kinds)
    assert (again, len(steps)) == (state, 5)
    for ours, theirs in zip(model.parameters(), again_model.parameters(), strict=True):
        first, second = optimizer.state[ours], again_optimizer.state[theirs]
        assert first.keys() == second.keys() == {"step", "square_avg", "acc_delta"}
        assert all(torch.equal(first[key], second[key]) for key in first)
        assert (first["step"], first["step"].dtype) == (13, second["step"].dtype)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_state_stands_for_weights_drawn_otherwise(tmp_path, uninterrupted):
    _, (model, *_) = uninterrupted
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=6)
    again, *_ = follow(tmp_path, seed=99)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def cut(left):
    """Only so many of the bytes."""
    return lambda data: data[:left]


def flip(place):
    """One bit another."""

    def flipped(data):
        harmed = bytearray(data)
        harmed[place] ^= 1
        return bytes(harmed)

    return flipped


def goes_on_after_8(root, uninterrupted, broken, capsys):
    """A training whose newest state counts on a broken file goes on from the one of update 8, to the same end."""
    folder, (_, _, state, _) = uninterrupted
    model, _, optimizer, checkpoints = start(root)
    assert checkpoints.resume(model, optimizer, Ranks()).next.update == 9
    assert capsys.readouterr().err.startswith(f"warning: {broken}: broken (")
    assert follow(root)[2] == state
    assert contents(root) == contents(folder)


@pytest.mark.parametrize("harm", [*map(cut, (0, 5, 1000, -1)), *map(flip, (0, 40, -1, -1000))])
def test_a_broken_state_gives_way_to_the_one_before(tmp_path, uninterrupted, harm, capsys):
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=11)
    state_path = tmp_path / "state.safetensors"
    state_path.write_bytes(harm(state_path.read_bytes()))
    goes_on_after_8(tmp_path, uninterrupted, state_path, capsys)


def test_a_state_that_was_never_written_gives_way_too(tmp_path, uninterrupted):
    """Killed between the two renames, there is a previous state only."""
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=10)
    (tmp_path / "state.safetensors").unlink()
    (tmp_path / ".state.safetensors.partial").write_bytes(b"half")
    (tmp_path / "update_00000012.safetensors").write_bytes(b"of a later update whose state is lost")
    assert follow(tmp_path)[2] == uninterrupted[1][2]
    assert contents(tmp_path) == contents(uninterrupted[0])


@pytest.mark.parametrize("harm", [cut(-1), flip(-1), None])
def test_weights_that_are_broken_take_their_state_along(tmp_path, uninterrupted, harm, capsys):
    """The newest state counts on the weights of update 10, the one before does not."""
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=10)
    weights = tmp_path / "update_00000010.safetensors"
    if harm:
        weights.write_bytes(harm(weights.read_bytes()))
    else:
        weights.unlink()
    goes_on_after_8(tmp_path, uninterrupted, weights, capsys)


@pytest.mark.parametrize("harm", [cut(-1), None])
def test_weights_that_both_states_need_are_asked_for(tmp_path, uninterrupted, harm, capsys):
    """Those of update 8, the best so far. Both states stay, and go on once the file is back."""
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=12)
    weights = tmp_path / "update_00000008.safetensors"
    whole = weights.read_bytes()
    if harm:
        weights.write_bytes(harm(whole))
    else:
        weights.unlink()
    before = contents(tmp_path)
    model, _, optimizer, checkpoints = start(tmp_path)
    with pytest.raises(files.DataError) as caught:
        checkpoints.resume(model, optimizer, Ranks())
    assert str(caught.value).startswith(f"{weights}: broken (")
    assert str(caught.value).endswith(f"; restore this file, or remove {tmp_path} to train from scratch")
    assert "using the checkpoint before it" in capsys.readouterr().err
    assert contents(tmp_path) == before
    weights.write_bytes(whole)
    assert follow(tmp_path)[2] == uninterrupted[1][2]
    assert contents(tmp_path) == contents(uninterrupted[0])


def test_another_number_of_threads_is_said(tmp_path, capsys):
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=6)
    model, _, optimizer, checkpoints = start(tmp_path)
    assert checkpoints.resume(model, optimizer, Ranks()).next.update == 7
    assert capsys.readouterr().err == ""
    before, checkpoints.num_threads = checkpoints.num_threads, 77
    assert checkpoints.resume(model, optimizer, Ranks()).next.update == 7
    said = capsys.readouterr().err
    assert said.startswith(f"warning: {tmp_path}: trained by {before} threads so far, by 77 from now on; ")


def test_what_other_code_made_is_not_resumed(tmp_path, uninterrupted, capsys):
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=7)
    state = tmp_path / "state.safetensors"
    tensors, metadata = checkpoint_file.load(state)
    checkpoint_file.write(state, tensors, metadata | {"made_by": {"code": "b", "torch": "1"}})
    assert follow(tmp_path)[2:] == uninterrupted[1][2:]
    lost = "trains from scratch, 6 updates are lost: made with another code"
    assert capsys.readouterr().err == f"warning: {tmp_path}: {lost}\n"
    assert contents(tmp_path) == contents(uninterrupted[0])


def test_without_any_whole_state_it_starts_afresh(tmp_path, capsys):
    (tmp_path / "state.safetensors").write_bytes(b"")
    (tmp_path / "previous.safetensors").write_bytes(b"half a header")
    model, _, optimizer, checkpoints = start(tmp_path)
    before = [weight.clone() for weight in model.parameters()]
    assert checkpoints.resume(model, optimizer, Ranks()) == TrainState()
    *broken, said = capsys.readouterr().err.splitlines()
    assert [line.endswith("; using the checkpoint before it") for line in broken] == [True, False]
    assert said == f"warning: {tmp_path}: no checkpoint is intact; training starts from scratch"
    assert Checkpoints(tmp_path / "nowhere", MADE_BY, last=1, best=1).resume(model, optimizer, Ranks()) == TrainState()
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert not optimizer.state


def test_the_last_and_the_best_are_kept(tmp_path, uninterrupted):
    folder, (model, _, state, _) = uninterrupted
    assert state.saved == (8, 12, 13)  # 8 had the lowest loss
    names = [f"update_{update:08d}.safetensors" for update in (8, 10, 12, 13)]  # 10 is of the state before
    assert sorted(contents(folder)) == ["previous.safetensors", "state.safetensors", *names]
    newest = load_file(folder / names[-1])
    assert newest.keys() == model.state_dict().keys()
    assert all(torch.equal(newest[name], weight) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("kill", [7, 9, 11, 13])
def test_the_state_before_has_all_the_weights_it_counts_on(tmp_path, kill):
    """The newer one has dropped an update from its state; the older one still needs the file."""
    with pytest.raises(Interrupt):
        follow(tmp_path / "work", kill_after=kill)
    (tmp_path / "work/state.safetensors").write_bytes(b"cut")
    model, _, optimizer, checkpoints = start(tmp_path / "work")
    state = checkpoints.resume(model, optimizer, Ranks())
    checkpoints.publish(tmp_path / "out", state)
    assert len(contents(tmp_path / "out")) == 1 + len(state.saved)


def test_stale_files_are_dropped_by_the_next_save(tmp_path):
    for name in ("update_00000003.safetensors", "update_00000099.safetensors"):
        (tmp_path / name).write_bytes(b"of another time")
    with pytest.raises(Interrupt):
        follow(tmp_path, kill_after=4)
    assert sorted(contents(tmp_path)) == [
        "previous.safetensors",
        "state.safetensors",
        "update_00000002.safetensors",
        "update_00000004.safetensors",
    ]


def test_no_state_holds_a_tensor_twice(tmp_path, uninterrupted):
    tensors = load_file(uninterrupted[0] / "state.safetensors")
    model = uninterrupted[1][0]
    expected = {name for name, _ in model.named_parameters()}
    for key in ("step", "exp_avg", "exp_avg_sq"):
        expected |= {f"optimizer/{key}/{name}" for name, _ in model.named_parameters()}
    assert tensors.keys() == expected


def test_publish_copies_what_was_kept_and_says_which(tmp_path, uninterrupted):
    folder, (_, _, state, _) = uninterrupted
    checkpoints = Checkpoints(folder, MADE_BY, last=SETTINGS.last_checkpoints, best=SETTINGS.best_checkpoints)
    checkpoints.publish(tmp_path / "out", state)
    kept = [f"update_{update:08d}.safetensors" for update in (8, 12, 13)]
    assert sorted(contents(tmp_path / "out")) == ["checkpoints.json", *kept]
    assert files.read_json(tmp_path / "out/checkpoints.json") == {"last": kept[1:], "best": kept[:1]}
    assert all((tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes() for name in kept)


def test_a_failed_write_leaves_the_state_before_it(tmp_path, monkeypatch):
    model, _, optimizer, checkpoints = start(tmp_path)
    checkpoints.save(model, optimizer, TrainState().after(step(1), 2), keep=True, write=True)
    checkpoints.wait()
    before = (tmp_path / "state.safetensors").read_bytes()

    def full(opened):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    checkpoints.save(model, optimizer, TrainState().after(step(2), 2), keep=True, write=True)
    with pytest.raises(OSError, match="No space left") as caught:
        checkpoints.wait()
    assert caught.value.filename == str(tmp_path / "update_00000002.safetensors")
    assert sorted(contents(tmp_path)) == ["state.safetensors", "update_00000001.safetensors"]
    assert (tmp_path / "state.safetensors").read_bytes() == before


def test_a_state_is_overdue_after_so_many_minutes(tmp_path, monkeypatch):
    model, _, optimizer, checkpoints = start(tmp_path)
    monkeypatch.setenv("CHECKPOINT_MINUTES", "2")
    now = checkpoints.saved_at
    monkeypatch.setattr("pipeline.training.checkpoints.time.monotonic", lambda: now)
    now += 119
    assert not checkpoints.is_overdue()
    now += 2
    assert checkpoints.is_overdue()
    state = checkpoints.save(model, optimizer, TrainState().after(step(1), 2), keep=False, write=True)
    checkpoints.wait()
    assert not checkpoints.is_overdue()
    assert (state.saved, sorted(contents(tmp_path))) == ((), ["state.safetensors"])
    assert checkpoints.resume(model, optimizer, Ranks()) == state


@pytest.mark.parametrize(("text", "expected"), [(None, 10.0), ("0.5", 0.5)])
def test_minutes(monkeypatch, text, expected):
    monkeypatch.delenv("CHECKPOINT_MINUTES", raising=False)
    if text:
        monkeypatch.setenv("CHECKPOINT_MINUTES", text)
    assert checkpoint_minutes() == expected
