"""How a stage runs as a command: mistakes in one line, bugs with a traceback, and an end with DVC's."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from pipeline.common.files import DataError
from pipeline.console import cli

FULL = "the disk is full; free some space and repeat the command"
STAGE = """
import os, sys, time
from pathlib import Path
from pipeline.console import cli
from pipeline.common import files

def main(name: str) -> None:
    {}

cli.run(main)
"""


@pytest.fixture
def run(tmp_path, project_root):
    """Run a stage with this body."""

    def run_stage(body, *arguments, **environment):
        (tmp_path / "stage.py").write_text(STAGE.format(body))
        environment = os.environ | {"PYTHONPATH": str(project_root)} | environment
        command = [sys.executable, "stage.py", *(arguments or ("toy",))]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run_stage


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("print(name)", 0, "toy\n"),
        ("raise files.DataError('a.txt: is\\x1b[2J wrong')", 1, "error: a.txt: is\\x1b[2J wrong\n"),
        ("os.dup2(os.open('/dev/full', os.O_WRONLY), 1); print(name)", 1, f"error: standard output: {FULL}\n"),
        ("files.read_json(Path('a.json'))", 1, "error: a.json: no such file; expected what an earlier stage writes\n"),
    ],
)
def test_an_output_or_one_line(run, body, status, said):
    done = run(body)
    assert (done.returncode, done.stdout + done.stderr) == (status, said)


def test_an_ascii_terminal_gets_utf8(run):
    done = run("print(name + chr(177)); open(name, 'w').close()", "é", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="")
    assert (done.stdout, done.stderr) == ("é±\n", "")


def test_a_bug_is_a_traceback_and_a_missing_argument_is_named(run):
    assert "ZeroDivisionError" in run("1 / 0").stderr
    done = run("pass", "a", "b")
    assert (done.returncode, "unexpected extra argument" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DataError("a: wrong"), "a: wrong"),
        (ValueError("of torch's"), None),
        (KeyError("a"), None),
        (OSError(28, "No space left on device", "out/a"), "out/a: the disk is full; free some space and repeat"),
        (OSError(28, "No space left on device", "in/a", None, "out/.b.partial/a"), "out/b/a: the disk is full; "),
        (MemoryError(), "memory: there is too little; lower `tokens_per_batch` in corpora"),
        (
            RuntimeError("[enforce fail] ... (Cannot allocate memory)"),
            "memory: there is too little",
        ),
        (RuntimeError("No space left on device (os error 28)"), "write: the disk is full; free some space and repeat"),
        (PermissionError(13, "Permission denied", "out/a"), "out/a: Permission denied; expected a path of your own"),
        (ConnectionError("lost"), None),
    ],
)
def test_whose_mistake_it_is(error, message):
    said = cli.mistake(error)
    assert said is None if message is None else said.startswith(message)


def test_an_output_that_nobody_reads_ends_quietly(tmp_path, project_root):
    (tmp_path / "stage.py").write_text(STAGE.format("print('line\\n' * 100_000)"))
    command = f"PYTHONPATH={project_root} {sys.executable} stage.py toy | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("line\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
@pytest.mark.parametrize(("environment", "survives"), [({"DVC_STAGE": "train"}, False), ({}, True)])
def test_a_stage_of_dvc_ends_with_it(tmp_path, project_root, environment, survives):
    (tmp_path / "stage.py").write_text(STAGE.format("Path(str(os.getpid())).touch(); time.sleep(60)"))
    environment = {key: value for key, value in os.environ.items() if key != "DVC_STAGE"} | environment
    environment["PYTHONPATH"] = str(project_root)
    parent = subprocess.Popen(["sh", "-c", f"{sys.executable} stage.py toy; true"], cwd=tmp_path, env=environment)
    while not (begun := [path for path in tmp_path.iterdir() if path.name.isdecimal()]):
        assert parent.poll() is None
        time.sleep(0.05)
    stage = psutil.Process(int(begun[0].name))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    alive = psutil.wait_procs([stage], timeout=1 if survives else 10)[1]
    assert bool(alive) is survives
    for process in alive:
        process.kill()


def test_threads_give_way_to_other_programs_unless_the_user_says_otherwise(run):
    for given, expected in (("", "10000"), ("7", "7")):
        environment = {"GOMP_SPINCOUNT": given} if given else {}
        assert run("print(os.environ['GOMP_SPINCOUNT'])", **environment).stdout == f"{expected}\n"
