"""The command `nmt` as a whole: its help, and what it says of mistakes."""

import os
import subprocess
import sys

import pytest

from pipeline.commands import nmt
from tests.toys.systems import SYSTEM

NMT = [sys.executable, "-m", "pipeline.commands.nmt"]


def test_the_help_lists_every_command(run):
    said = run("--help").out
    for name, (*_, panel, _) in nmt.COMMANDS.items():
        assert name in said
        assert panel in said


@pytest.mark.parametrize("name", nmt.COMMANDS)
def test_every_command_explains_itself(run, name):
    assert f"Usage: nmt {name}" in run(name, "--help").out


def test_the_help_imports_no_command(project_root):
    code = "import sys, pipeline.commands.nmt; print({'torch', 'dvc', 'pipeline.commands.catalogue'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=project_root, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_shell_completes_options(project_root):
    asked = {"_NMT_COMPLETE": "complete_bash", "COMP_WORDS": "nmt export --s", "COMP_CWORD": "2"}
    done = subprocess.run(NMT, cwd=project_root, env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == ["--system"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["attention", "x"], "Missing option '--system'"),
        (["translate", "--system", SYSTEM, "--beam", "0"], "Invalid value for '--beam'"),
        (["attention", "--system", SYSTEM, "--beam", "1001", "x"], "Invalid value for '--beam'"),
        (["trnslate"], "No such command 'trnslate'"),
    ],
)
def test_a_wrong_option_is_named(run, project, arguments, fault):
    said = run(*arguments)
    assert (said.status, said.out) == (2, "")
    assert fault in said.err


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ('"$@" >&-', "error: standard output: is closed; expected a place for what the command prints\n"),
        ('"$@" | true; exit ${PIPESTATUS[0]}', ""),  # the reader's choice, as that of `head`
        ('"$@" >/dev/full', "error: standard output: the disk is full; free some space and repeat the command\n"),
    ],
)
def test_an_output_that_nobody_gets_is_one_line_at_most(project, project_root, shell, said):
    command = ["bash", "-c", shell, "bash", *NMT, "translate", "--system", SYSTEM, "le chat"]
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, said)


def test_a_missing_package_names_the_extra(fails, monkeypatch):
    def lacking(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="dvc")

    monkeypatch.setattr(nmt, "import_module", lacking)
    assert fails("repro") == "nmt repro: needs the package dvc, which is not installed; expected nmt-pipeline[build]"
