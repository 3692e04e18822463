import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.commands import nmt
from tests.toys.systems import SYSTEM


def test_every_command_is_there_and_explains_itself(run):
    said = run("--help")
    assert said.status == 0
    for name, (_, text) in nmt.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(text)}$", said.out, re.MULTILINE)
        helped = run(name, "--help")
        assert (helped.status, helped.err) == (0, "")
        assert "Usage: nmt" in helped.out


def test_no_command_is_a_question_for_help(run):
    assert run().status == 2


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["attention", "x"], "Missing option '--system'"),
        (["translate", "--system", SYSTEM, "--beam", "0"], "Invalid value for '--beam'"),
        (["translate", "--system", SYSTEM, "--length-penalty", "-1"], "Invalid value for '--length-penalty'"),
        (["translate", "--system", SYSTEM, "--length-penalty", "20"], "Invalid value for '--length-penalty'"),
        (["trnslate"], "No such command 'trnslate'"),
    ],
)
def test_a_wrong_option_is_named(run, project, arguments, fault):
    said = run(*arguments)
    assert (said.status, said.out) == (2, "")
    assert fault in said.err


def test_users_mistake_is_one_line(fails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (["translate", "--system", SYSTEM, "x"], ["attention", "--system", SYSTEM, "x"], ["anatomy"]):
        assert fails(*arguments) == (
            f"{tmp_path}: has no params.yaml; expected the project's folder, which nmt runs in"
        )


def test_folder_of_others_is_one_line(fails, project, run):
    (project / "taken").write_text("")
    said = run("attention", "--system", SYSTEM, "--out", "taken", "le chat")
    assert said.status == 1
    assert said.err == (
        "error: --out: is a file, or under one, got 'taken'; expected a new folder, or one that `nmt attention` wrote\n"
    )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device"), "write: the disk is full; free some space and repeat the command"),
        (
            OSError(28, "No space left on device", "a.png"),
            "a.png: the disk is full; free some space and repeat the command",
        ),
        (
            PermissionError(13, "Permission denied", "a"),
            "a: Permission denied; expected a path of your own to read or to write",
        ),
    ],
)
def test_system_errors_that_are_no_bugs_are_one_line(fails, monkeypatch, error, line):
    def stumble(*_, **__):
        raise error

    monkeypatch.setattr("pipeline.commands.copy_task.read_arch", stumble)
    assert fails("copy-task", "--model", "rnnsearch") == line


def test_bug_is_a_traceback(run, monkeypatch):
    def stumble(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pipeline.commands.copy_task.read_arch", stumble)
    with pytest.raises(OSError, match="Input/output error"):
        run("copy-task", "--model", "rnnsearch")


def test_as_a_command(project, project_root):
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = [sys.executable, "-m", "pipeline.commands.nmt", "translate", "--system", "tory", "le chat"]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: --system: must be <corpus>-<vocabulary>-<model>-<size>[-<seed>], got 'tory'; "
        f"expected one of {SYSTEM}\n"
    )


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ('"$@" >&-', "error: standard output: is closed; expected a place for what the command prints\n"),
        ('"$@" | true; exit ${PIPESTATUS[0]}', ""),  # the reader's choice, as that of `head`
        pytest.param(
            '"$@" >/dev/full',
            "error: write: the disk is full; free some space and repeat the command\n",
            marks=pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full"),
        ),
    ],
)
def test_an_output_that_nobody_gets_is_one_line_at_most(project, project_root, shell, said):
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = [sys.executable, "-m", "pipeline.commands.nmt", "translate", "--system", SYSTEM, "le chat"]
    started = ["bash", "-c", shell, "bash", *command]
    done = subprocess.run(started, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, said)


def test_a_missing_package_names_the_extra(fails, monkeypatch):
    def lacking(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="dvc")

    monkeypatch.setattr(nmt, "import_module", lacking)
    assert fails("repro") == ("nmt repro: needs the package dvc, which is not installed; expected nmt-pipeline[build]")


def test_the_script_is_declared(project_root: Path):
    assert 'nmt = "nmt_pipeline.commands.nmt:app"' in (project_root / "pyproject.toml").read_text()


def test_help_imports_no_command(project_root: Path):
    code = "import sys, pipeline.commands.nmt; print('torch' in sys.modules, 'pipeline.catalogue' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=project_root, capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
