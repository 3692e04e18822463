"""The processes of a training: one to eight, asked to end or not, make the same files, to the byte."""

import json
import shutil
import signal
import socket

import pytest
import torch
from torch import distributed, multiprocessing, nn

from pipeline import events
from pipeline.training.ranks import LostRankError, RankMismatchError, Ranks, collective_errors, exit_now, process_group
from tests.toys.trainings import edit, end, finish, lay_out, logged, outs, start

GIVEN = ("tokens", "padding_share", "learning_rate")  # which follow from the batches alone


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with all that a training of 200 updates reads, most of them of two or three micro-batches."""
    root = tmp_path_factory.mktemp("prepared")
    lay_out(root)
    edit(root, "updates: 24", "updates: 200")
    return root


@pytest.fixture(scope="module")
def alone(tmp_path_factory, prepared):
    """A folder where one process trained to the end."""
    root = tmp_path_factory.mktemp("alone")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    finish(root, TRAIN_PROCESSES="1")
    return root


def numbers(root):
    """What was logged of each update, and of each validation."""
    rows = logged(root)
    return [row for row in rows if "train_loss" in row], [row for row in rows if "validation_loss" in row]


def same(left, right):
    """Nothing, where two trainings had the same numbers and wrote the same files."""
    for one, other in zip(numbers(left), numbers(right), strict=True):
        assert without_speed(one) == without_speed(other)
    assert outs(left) == outs(right)


def without_speed(rows):
    return [{name: value for name, value in row.items() if name not in ("tokens_per_second", "time")} for row in rows]


@pytest.mark.parametrize(
    "processes", ["2", pytest.param("4", marks=pytest.mark.slow), pytest.param("8", marks=pytest.mark.slow)]
)
def test_any_power_of_two_of_processes_trains_the_same_model(tmp_path, prepared, alone, processes):
    """Whether each has work or, as here the last four of eight, none."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    said = finish(tmp_path, TRAIN_PROCESSES=processes)
    assert sum("target tokens/s without padding" in line for line in said.splitlines()) == 1  # rank 0's alone
    same(alone, tmp_path)


RECURRENT = """
  rnnsearch:
    default: {}
    tiny: {embedding: 8, width: 16, alignment: 8, maxout: 8, reset_gate: after, dropout: 0.1, output_dropout: 0.1,
      teacher_forcing: 1.0, optimizer: {kind: adam, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.0},
      batches: {kind: tokens}, schedule: {kind: constant, learning_rate: 1e-2}, label_smoothing: 0.1,
      smoothing_spread: others, r_drop: 0.0, lsi_pairs: 0, clip: 1.0, precision: fp32}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "precision"), [("transformer_prenorm", "bf16"), ("rnnsearch", "fp32"), ("rnnsearch", "bf16")]
)
def test_so_they_do_in_bf16_and_with_a_recurrent_model(tmp_path, model, precision):
    found = []
    for processes in ("1", "2", "4"):
        root = tmp_path / processes
        root.mkdir()
        lay_out(root)
        with (root / "params.yaml").open("a", encoding="utf-8") as params:
            params.write(RECURRENT.lstrip("\n"))
        edit(root, "precision: fp32", f"precision: {precision}")
        process = start(root, "toy", "joint", model, "tiny", TRAIN_PROCESSES=processes)
        said = process.communicate(timeout=300)[1]
        assert process.returncode == 0, said
        found.append(outs(root, f"toy-joint-{model}-tiny"))
    assert len(found[0]) > 3
    assert found[0] == found[1] == found[2]


def test_nmt_repro_hears_once_that_it_began_and_ended(tmp_path):
    lay_out(tmp_path)
    process = start(tmp_path, TRAIN_PROCESSES="2", NMT_EVENTS="1")
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    told = [event for event in map(events.parse, out.split("\n")) if event and event["kind"] != "progress"]
    assert [(event["kind"], event.get("ok")) for event in told] == [("began", None), ("ended", True)]


@pytest.mark.slow
def test_another_number_of_processes_must_be_allowed_and_rounds_otherwise(tmp_path, prepared, alone):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    process = start(tmp_path, TRAIN_PROCESSES="3")
    said = process.communicate(timeout=300)[1]
    expected = "expected 1, 2, 4, 8 ..., by the environment variable TRAIN_PROCESSES"
    assert process.returncode == 1
    assert f"error: training.exact: must be false for this number of processes, got 3; {expected}" in said
    edit(tmp_path, "exact: true", "exact: false")
    finish(tmp_path, TRAIN_PROCESSES="3")
    (steps, validations), (others, other_validations) = numbers(alone), numbers(tmp_path)
    assert len(steps) == len(others) == 200
    for one, other in zip(steps, others, strict=True):
        assert [one[name] for name in GIVEN] == [other[name] for name in GIVEN]
        assert other["train_loss"] == pytest.approx(one["train_loss"], rel=1e-4)
    for one, other in zip(validations, other_validations, strict=True):
        assert other["validation_loss"] == pytest.approx(one["validation_loss"], abs=5e-4)


@pytest.mark.parametrize("processes", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_asked_to_end_it_saves_and_the_repeated_goes_on(tmp_path, prepared, alone, processes):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    status, said = end(tmp_path, processes=processes)
    assert status == 128 + signal.SIGTERM
    [saved] = [line for line in said.splitlines() if "asked to stop, saved at update " in line]
    update = int(saved.split("saved at update ")[1].split(";")[0])
    assert f"resuming at update {update + 1}" in finish(tmp_path, TRAIN_PROCESSES="1")
    same(alone, tmp_path)


def test_a_training_goes_on_by_other_processes(tmp_path, prepared, alone):
    """Killed with one, it goes on with two, is killed again and ends with one."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    assert end(tmp_path, by=signal.SIGKILL)[0] == -signal.SIGKILL
    assert end(tmp_path, processes="2")[0] == 128 + signal.SIGTERM
    finish(tmp_path, TRAIN_PROCESSES="1")
    same(alone, tmp_path)


@pytest.mark.slow
def test_two_processes_stop_where_one_does(tmp_path, prepared):
    """A rate so high that the loss soon rises."""
    found = []
    for processes in ("1", "2"):
        root = tmp_path / processes
        shutil.copytree(prepared, root)
        edit(root, "patience: 0", "patience: 1")
        edit(root, "peak_rate: 1e-2", "peak_rate: 5e-1")
        finish(root, TRAIN_PROCESSES=processes)
        summary = json.loads(outs(root)["training.json"])
        found.append((summary["updates"], summary["stopped"], summary["best"]["update"], len(numbers(root)[0])))
    updates = found[0][0]
    assert found[0] == found[1] == (updates, "patience", updates - 8, updates)
    assert 16 <= updates < 200


def test_alone_there_is_nobody_to_ask():
    ranks = Ranks()
    assert (ranks.is_main, ranks.shard, ranks.broadcast(b"x")) == (True, slice(0, None, 1), b"x")
    assert ranks.all_gather([3, 1, 2]) == [3, 1, 2]
    ranks.check_equal("a", "what", "another")
    assert not ranks.should_stop
    ranks.interrupted = True
    ranks.all_gather([])
    assert ranks.should_stop


def test_ranks_that_do_not_compute_the_same_are_named(monkeypatch):
    ranks = Ranks(rank=2, size=3)
    monkeypatch.setattr(ranks, "all_gather", lambda mine: ["a", "a", *mine])
    with pytest.raises(RankMismatchError) as caught:
        ranks.check_equal("b", "the data", "one corpus")
    assert str(caught.value) == "the data: got 'b' on rank 2 and 'a' on rank 0; expected one corpus"


def test_a_second_ctrl_c_does_not_wait(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    before = [signal.signal(signal.SIGINT, signal.default_int_handler), signal.getsignal(signal.SIGTERM)]
    try:
        with process_group() as ranks:
            signal.raise_signal(signal.SIGINT)
            assert ranks.interrupted
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) == before[1]
    finally:
        signal.signal(signal.SIGINT, before[0])


def test_what_was_to_be_ignored_stays_so(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with process_group() as ranks:
            signal.raise_signal(signal.SIGINT)
            assert not ranks.interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def started(rank, folder, seeds):
    """What a rank of two begins with: its own draw, then what all have."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.manual_seed(seeds[rank])
    weights = [nn.Parameter(torch.randn(3, 2)), torch.randn(4)]
    own = [weight.detach().clone() for weight in weights]
    Ranks(rank, 2).broadcast_weights(weights)
    torch.save((own, [weight.detach() for weight in weights]), folder / str(rank))
    exit_now(0)


def test_all_start_from_rank_0s_weights(tmp_path):
    multiprocessing.spawn(started, (tmp_path, (1, 2)), nprocs=2)
    (own, first), (others, second) = (torch.load(tmp_path / rank) for rank in "01")
    for left, right, mine, other in zip(own, others, first, second, strict=True):
        assert not torch.equal(left, right)
        assert torch.equal(mine, left)
        assert torch.equal(other, left)


def test_more_processes_than_micro_batches_are_said(tmp_path, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "updates: 200", "updates: 8")
    edit(tmp_path, "tokens_per_update: 150", "tokens_per_update: 80")
    said = finish(tmp_path, TRAIN_PROCESSES="2")
    assert said.count(" = 80 / 80 keeps only about 1 of them busy; the others wait") == 1


def test_what_is_lost_is_one_line():
    with pytest.raises(LostRankError) as caught, collective_errors():
        raise RuntimeError("Connection closed by peer\nmore")
    assert str(caught.value).startswith("another process of this training has ended (Connection closed by peer); ")
    with pytest.raises(torch.OutOfMemoryError), collective_errors():
        raise torch.OutOfMemoryError


@pytest.mark.slow
@pytest.mark.parametrize(
    "meeting",
    [
        pytest.param({"PET_MASTER_ADDR": "localhost", "PET_MASTER_PORT": "{}"}, id="static"),
        pytest.param(
            {"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "localhost:{}", "PET_RDZV_ID": "test"}, id="c10d"
        ),
    ],
)
def test_two_machines_train_the_same_model(tmp_path, prepared, alone, meeting):
    """Two launchers with torchrun's variables, here on one machine."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    common = {"PET_NNODES": "2", "TRAIN_PROCESSES": "1"}
    common |= {name: value.format(port) for name, value in meeting.items()}
    own = [{"PET_NODE_RANK": rank} if "PET_MASTER_ADDR" in meeting else {} for rank in "01"]
    first, second = (start(tmp_path, **common, **one) for one in own)
    said = [process.communicate(timeout=300)[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    assert sorted("target tokens/s without padding" in one for one in said) == [False, True]
    assert "" in said, said
    if own[1]:  # else torch chooses which of them has rank 0
        assert said[1] == ""
    same(alone, tmp_path)
