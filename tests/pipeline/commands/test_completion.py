"""What Tab proposes, asked as the scripts of typer ask."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from pipeline.commands import completion, nmt
from tests.toys.systems import SYSTEM

COMMANDS = {name: function for name, (function, _) in nmt.COMMANDS.items()}
OTHER = SYSTEM.replace("transformer_prenorm", "rnnsearch")


@pytest.fixture
def two(project):
    """A folder with two built systems."""
    shutil.copytree(project / "runs" / SYSTEM, project / "runs" / OTHER)
    (project / "runs/.notes-a-b-c/average").mkdir(parents=True)
    (project / "models" / SYSTEM).mkdir(parents=True)
    return project


@pytest.mark.parametrize(
    ("words", "start", "expected"),
    [
        ([], "tr", ["translate"]),
        ([], "--i", ["--install-completion"]),
        (["translate"], "--n", ["--n-best"]),
        (["copy-task"], "--ba", ["--batch-size"]),
        (["translate", "--system"], "", ["rnnsearch", "transformer_prenorm"]),
        (["attention", "--system"], "rnn", ["rnnsearch"]),
        (["translate", "--system"], "toy-bpe_toy-t", [SYSTEM]),
        (["translate", "--system"], "x", []),
        (["translate", "--model"], "", [f"models/{SYSTEM}"]),
        (["copy-task", "--model"], "rnn", ["rnn_encdec", "rnnsearch"]),
        (["translate"], "le chat", []),
        (["nonsense"], "--", []),
    ],
)
def test_proposals(two, words, start, expected):
    assert completion.proposals(words, start, COMMANDS) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_those_of_the_help(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "200")
    helped = run(name, "--help").out
    shown = " ".join(re.findall(r"^  ((?:-\w, )?--\S+(?: / --\S+)?)", helped, flags=re.MULTILINE))
    assert sorted(re.findall(r"--[\w-]+", shown)) == completion.proposals([name], "-", COMMANDS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"_NMT_COMPLETE": "complete_bash", "COMP_WORDS": "nmt\ntranslate\n--system\n", "COMP_CWORD": "3"},
            "rnnsearch\n",
        ),
        (
            {"_NMT_COMPLETE": "complete_bash", "COMP_WORDS": "nmt\nattention\nl' a b\n--ou", "COMP_CWORD": "3"},
            "--out\n",
        ),
        ({"_NMT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "nmt tr"}, """_arguments '*: :(("translate"))'\n"""),
        ({"_NMT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "nmt translate x"}, "_files\n"),
        ({"_NMT_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "nmt translate --system "}, "rnnsearch\n"),
    ],
)
def test_each_shell_gets_its_form(two, run, monkeypatch, asked, said):
    shutil.rmtree(two / "runs" / SYSTEM)
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert run() == (0, said, "")


@pytest.mark.parametrize(("words", "status"), [("nmt tr", 0), ("nmt translate x", 1)])
def test_fish_asks_whether_there_is_anything(project, run, monkeypatch, words, status):
    monkeypatch.setenv("_NMT_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    assert run() == (status, "\n", "")


def test_the_scripts_come_from_typer(run, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    said = run("--show-completion", "bash")
    assert "_NMT_COMPLETE=complete_bash" in said.out


def test_a_further_seed_is_proposed_by_its_own_name(two):
    shutil.copytree(two / "runs" / OTHER, two / "runs" / f"{OTHER}-2")
    assert completion.systems("rnn") == ["rnnsearch", "rnnsearch-tiny-2", "transformer_prenorm"]


def test_no_command_is_imported(two, project_root):
    """Which is why it is quick."""
    script = (
        "import atexit, sys; from pipeline.commands import nmt; atexit.register(lambda: print(*sys.modules)); nmt.app()"
    )
    asked = {"_NMT_COMPLETE": "complete_bash", "COMP_WORDS": "nmt\ntranslate\n--system\nr", "COMP_CWORD": "3"}
    environment = os.environ | {"PYTHONPATH": str(project_root)} | asked
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    proposed, loaded = done.stdout.splitlines()
    assert proposed == "rnnsearch"
    assert not {"torch", "pydantic", "mlflow", "dvc", "rich", "pipeline.commands.translate"} & set(loaded.split())
