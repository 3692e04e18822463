"""Starting the processes of a training, and how they end where one of them fails."""

import os
import shutil
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from pipeline.training import launch
from tests.toys.trainings import edit, end, lay_out, start, start_and_save


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with all that a training reads."""
    root = tmp_path_factory.mktemp("prepared")
    lay_out(root)
    edit(root, "updates: 24", "updates: 200")
    return root


def child(process):
    """The number of the first process that a launcher has started."""
    return psutil.Process(process.pid).children()[0].pid


def test_what_fails_on_all_is_said_once(tmp_path, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "peak_rate: 1e-2", "peak_rate: 1e30")
    process = start(tmp_path, TRAIN_PROCESSES="2")
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert said.count("error: ") == 1, said
    assert "expected a finite number" in said
    assert "Traceback" not in said


def test_where_one_is_killed_all_end(tmp_path, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    process = start_and_save(tmp_path, processes="2")
    os.kill(child(process), signal.SIGKILL)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 128 + signal.SIGKILL
    assert "Traceback" not in said
    assert [line for line in said.splitlines() if "error" in line] == [
        "error: rank 0 was ended by SIGKILL; repeat the command to go on"
    ]


@pytest.mark.slow
def test_where_one_is_killed_on_another_machine_all_end(tmp_path, prepared):
    """Two launchers, here on one machine."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = {"PET_MASTER_ADDR": "localhost", "PET_MASTER_PORT": str(free.getsockname()[1])}
    common = {"PET_NNODES": "2", "TRAIN_PROCESSES": "1"} | address
    second = start(tmp_path, PET_NODE_RANK="1", **common)
    first = start_and_save(tmp_path, processes="1", PET_NODE_RANK="0", **common)
    os.kill(child(second), signal.SIGKILL)
    said = [process.communicate(timeout=300)[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (1, 128 + signal.SIGKILL), said
    [lost], [killed] = ([line for line in one.splitlines() if line.startswith("error")] for one in said)
    assert lost.startswith("error: another process of this training has ended (")
    assert killed == "error: rank 1 was ended by SIGKILL; repeat the command to go on"


@pytest.mark.parametrize(("processes", "status"), [("1", 128 + signal.SIGTERM), ("2", 128 + signal.SIGINT)])
def test_ctrl_c_saves(tmp_path, prepared, processes, status):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    got, said = end(tmp_path, processes=processes, by=signal.SIGINT)
    assert got == status
    assert "asked to stop, saved at update " in said
    assert "Traceback" not in said


def test_machines_that_do_not_meet_are_said(tmp_path, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    with socket.socket() as closed:  # bound, and not listening
        closed.bind(("localhost", 0))
        address = {"PET_MASTER_ADDR": "localhost", "PET_MASTER_PORT": str(closed.getsockname()[1])}
        process = start(tmp_path, PET_NNODES="2", PET_NODE_RANK="1", PET_RDZV_CONF="timeout=1", **address)
        said = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith("error: the machines of this training did not meet (")  # after torch's own
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TRAIN_PROCESSES", "two", "must be a number, 1 or more, got 'two'"),
        ("TRAIN_PROCESSES", "0", "must be a number, 1 or more, got '0'"),
        ("CHECKPOINT_MINUTES", "-1", "must be a number above 0, got '-1'"),
    ],
)
def test_a_variable_that_says_no_number_is_one_line(tmp_path, name, value, expected):
    process = start(tmp_path, CUDA_VISIBLE_DEVICES="", **{name: value})
    said = process.communicate(timeout=300)[1]
    assert (process.returncode, said) == (1, f"error: environment variable {name}: {expected}\n")


def test_what_is_not_fatal_to_torchrun_is_not_said():
    """Such as that of two machines the other one left sooner, at the end of a training."""
    code = (
        "import logging\n"
        "from pipeline.training.launch import silence_torchrun\n"
        "agent = logging.getLogger('torch.distributed.elastic.agent.server.api')\n"
        "agent.error('said')\n"
        "silence_torchrun()\n"
        "agent.error('silenced')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    [line] = done.stderr.splitlines()
    assert line.endswith("said")


@pytest.mark.parametrize(
    ("environment", "gpus", "processes", "due"),
    [
        ({}, 0, 1, False),
        ({}, 1, 1, False),
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


def test_no_more_than_there_are_gpus(monkeypatch):
    monkeypatch.setattr(launch.torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("TRAIN_PROCESSES", "3")
    with pytest.raises(launch.ProcessesError, match=r"must be a number, 1 to 2, the number of GPUs, got '3'$"):
        launch.processes()
