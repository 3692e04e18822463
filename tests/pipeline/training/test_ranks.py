"""The processes of a training: one to eight, asked to end or not, make the same files, to the byte; how they end."""

import os
import shutil
import signal
import socket

import psutil
import pytest
import torch
from torch import distributed, multiprocessing, nn

from pipeline.training import launch
from pipeline.training.ranks import Ranks, RanksError, collective_errors, exit_now, process_group
from tests.toys.trainings import edit, finish, outs, start, start_and_save, stop, write_inputs

CONFIG = "configs/transformer_prenorm.yaml"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with all that a training of 100 updates reads, most of them of two or three micro-batches."""
    root = tmp_path_factory.mktemp("prepared")
    write_inputs(root)
    edit(root, "updates: 24", "updates: 100")
    return root


@pytest.fixture(scope="module")
def alone(tmp_path_factory, prepared):
    """The files of a training by one process."""
    root = tmp_path_factory.mktemp("alone")
    shutil.copytree(prepared, root, dirs_exist_ok=True)
    finish(root, TRAIN_PROCESSES="1")
    return outs(root)


@pytest.fixture
def project(tmp_path, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return str(free.getsockname()[1])


@pytest.mark.parametrize("processes", ["2", *(pytest.param(number, marks=pytest.mark.slow) for number in "48")])
def test_any_power_of_two_of_processes_trains_the_same_model(project, alone, processes):
    """Whether each has work or, as here the last four of eight, none."""
    said = finish(project, TRAIN_PROCESSES=processes)
    assert said.count("target tokens/s without padding") == 1  # rank 0's alone
    assert outs(project) == alone


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_so_they_do_with_a_recurrent_model_and_in_bf16(project, precision):
    system = "toy-joint-rnnsearch-tiny-1"
    edit(project, "precision: fp32", f"precision: {precision}", "configs/rnnsearch.yaml")
    trained = []
    for processes in "124":
        finish(project, system, TRAIN_PROCESSES=processes)
        trained.append(outs(project, system))
        shutil.rmtree(project / "work/train")
    assert trained[0] == trained[1] == trained[2]


def test_a_training_goes_on_with_another_number_of_processes(project, alone):
    """Killed with one, it goes on with two, is asked to end and ends with one."""
    assert stop(project, by=signal.SIGKILL)[0] == -signal.SIGKILL
    status, said = stop(project, TRAIN_PROCESSES="2")
    assert status == 128 + signal.SIGTERM
    [saved] = [line for line in said.splitlines() if "asked to stop, saved at update " in line]
    update = int(saved.split("saved at update ")[1].split(";")[0])
    assert f"goes on from update {update}" in finish(project, TRAIN_PROCESSES="1")
    assert outs(project) == alone


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "status"), [("1", 128 + signal.SIGTERM), ("2", 128 + signal.SIGINT)])
def test_ctrl_c_saves(project, processes, status):
    got, said = stop(project, TRAIN_PROCESSES=processes, by=signal.SIGINT)
    assert got == status
    assert "asked to stop, saved at update " in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_three_processes_must_be_allowed(project, alone):
    process = start(project, TRAIN_PROCESSES="3")
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert said.count("error: training.exact: must be false for this number of processes, got 3; expected 1, 2") == 1
    edit(project, "exact: true", "exact: false")
    finish(project, TRAIN_PROCESSES="3")
    assert outs(project).keys() == alone.keys()


def test_what_fails_on_all_is_said_once(project):
    edit(project, "peak_rate: 1e-2", "peak_rate: 1e30", CONFIG)
    process = start(project, TRAIN_PROCESSES="2")
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert said.count("error: ") == 1, said
    assert "expected finite numbers" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_where_one_is_killed_all_end(project):
    process = start_and_save(project, TRAIN_PROCESSES="2")
    os.kill(psutil.Process(process.pid).children()[0].pid, signal.SIGKILL)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 128 + signal.SIGKILL
    assert "Traceback" not in said
    assert "error: rank 0 was ended by SIGKILL; repeat the command to go on" in said.splitlines()


@pytest.mark.slow
def test_two_machines_train_the_same_model(project, alone, port):
    """Two launchers with torchrun's variables, here on one machine."""
    address = {"PET_MASTER_ADDR": "localhost", "PET_MASTER_PORT": port, "PET_NNODES": "2", "TRAIN_PROCESSES": "1"}
    machines = [start(project, PET_NODE_RANK=rank, **address) for rank in "01"]
    said = [process.communicate(timeout=300)[1] for process in machines]
    assert [process.returncode for process in machines] == [0, 0], said
    assert ["target tokens/s without padding" in one for one in said] == [True, False]
    assert outs(project) == alone


@pytest.mark.parametrize(
    ("environment", "gpus", "processes", "due"),
    [
        ({}, 0, 1, False),
        ({}, 8, 8, True),
        ({"TRAIN_PROCESSES": "3"}, 0, 3, True),
        ({"TRAIN_PROCESSES": "1"}, 8, 1, False),
        ({"RANK": "0"}, 8, 8, False),  # torchrun has started this one
        ({"PET_NNODES": "2"}, 1, 1, True),
    ],
)
def test_how_many_are_started(monkeypatch, environment, gpus, processes, due):
    monkeypatch.setattr(launch.torch.cuda, "device_count", lambda: gpus)
    for name in ("TRAIN_PROCESSES", "RANK", "PET_NNODES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (launch.processes(), launch.is_due()) == (processes, due)


@pytest.mark.parametrize(
    ("text", "gpus", "expected"), [("3", 2, "1 to 2, the number of GPUs, got '3'"), ("0", 0, "1 or more, got '0'")]
)
def test_a_wrong_number_is_named(monkeypatch, text, gpus, expected):
    monkeypatch.setattr(launch.torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setenv("TRAIN_PROCESSES", text)
    with pytest.raises(RanksError, match=f"^environment variable TRAIN_PROCESSES: must be a number, {expected}$"):
        launch.processes()


def test_ranks_that_do_not_compute_the_same_are_named(monkeypatch):
    ranks = Ranks(rank=1, size=2)
    monkeypatch.setattr(ranks, "all_gather", lambda mine: ["a", *mine])
    with pytest.raises(RanksError, match=r"^the data: got a and b; expected one corpus$"):
        ranks.check_equal("b", "the data", "one corpus")


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])
def test_a_second_ctrl_c_does_not_wait_and_what_was_ignored_stays_so(monkeypatch, before):
    monkeypatch.delenv("RANK", raising=False)
    handler = signal.signal(signal.SIGINT, before)
    try:
        with process_group() as ranks:
            signal.raise_signal(signal.SIGINT)
            assert ranks.interrupted is (before != signal.SIG_IGN)
            if ranks.interrupted:
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == before
    finally:
        signal.signal(signal.SIGINT, handler)


def start_rank(rank, folder):
    """A rank of two draws weights of its own, then takes those of rank 0."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.manual_seed(rank)
    weights = [nn.Parameter(torch.randn(3, 2)), torch.randn(4)]
    Ranks(rank, 2).broadcast_weights(weights)
    torch.save([weight.detach() for weight in weights], folder / str(rank))
    exit_now(0)


def test_all_start_from_rank_0s_weights(tmp_path):
    multiprocessing.spawn(start_rank, (tmp_path,), nprocs=2)
    first, second = (torch.load(tmp_path / rank) for rank in "01")
    assert all(torch.equal(left, right) for left, right in zip(first, second, strict=True))


def test_a_lost_rank_is_one_line():
    said = r"^another process of this training has ended \(Connection closed by peer\); "
    with pytest.raises(RanksError, match=said), collective_errors():
        raise RuntimeError("Connection closed by peer\nmore")
