"""The commands of the documents are run, or dry-run where they would build, install or serve: `make slow`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents import Command, read
from tests.systems import SYSTEM, lay_out
from tests.test_documents import BENCHMARKS, NAMES, PROGRAMS, ROOT

pytestmark = pytest.mark.slow
SECONDS = 1800

# DVC's commands that only look; the others are dry-run, if they can be, or left at what test_documents.py says of them.
LOOKS = ("dag", "status", "params diff", "metrics diff", "metrics show", "exp show", "stage list")
DRY = ("repro", "exp run")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A pristine clone: the tracked files of this project, committed, and nothing built."""
    root = tmp_path_factory.mktemp("documents") / "project"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not tracked:
        pytest.skip("no clone: which files are the project's is not known")
    for name in tracked:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All of it"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True)
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with a tiny Transformer, built."""
    root = tmp_path_factory.mktemp("built")
    assert lay_out(root) == SYSTEM
    return root


def run(words: list[str], folder: Path) -> None:
    """Run a command of this environment, one sentence its standard input; its end must be a good one."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "DVC_NO_ANALYTICS": "1",
    }
    done = subprocess.run(
        words, cwd=folder, env=environment, input="le chat noir\n", capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, f"status {done.returncode}: {done.stdout[-500:]} {done.stderr[-1500:]}"


def run_dvc(words: list[str], project: Path, built: Path) -> None:
    """What only looks, as it stands; what builds, with --dry, in the params.yaml that its -S leaves."""
    name = " ".join(words[1:3])
    if name.startswith(DRY):
        run([*words, "--dry"], project)
        subprocess.run(["git", "checkout", "-q", "."], cwd=project, check=True)
    elif name.startswith(LOOKS):
        run([found for word in words for found in expand(word, project)], project)


def expand(word: str, folder: Path) -> list[str]:
    """The files that a pattern names, as a shell gives them; any other word as it is."""
    found = sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
    return found or [word]


def run_nmt(words: list[str], project: Path, built: Path) -> None:
    """Each command on the tiny system, trainings of two updates; what needs all of params.yaml, in the project."""
    words = list(words)
    for option, value in (("--system", SYSTEM), ("--file", "data/split/toy/test.source.txt"), ("--updates", "2")):
        if option in words:
            words[words.index(option) + 1] = value
    if words[1:2] == ["copy"] and "--updates" not in words:
        words += ["--updates", "2"]
    run([sys.executable, "-m", "pipeline.commands.nmt", *words[1:]], project if words[1] == "anatomy" else built)


def run_python(words: list[str], project: Path, built: Path) -> None:
    """Scripts say what they can do."""
    if words[1].endswith(".py"):
        run([sys.executable, words[1], "--help"], project)


def run_make(words: list[str], project: Path, built: Path) -> None:
    """What make would do."""
    run(["make", "-n", *words[1:]], project)


RUNS: dict[str, Callable[[list[str], Path, Path], None]] = {
    "dvc": run_dvc,
    "nmt": run_nmt,
    "python": run_python,
    "make": run_make,
}


def commands() -> list[Command]:
    """Every command of the documents, once; those that a sentence names are often incomplete, and left out."""
    found: dict[tuple[str, ...], Command] = {}
    for name in NAMES:
        for command in read(ROOT / name, name, PROGRAMS):
            if not command.named and command.words[0] in RUNS:
                found.setdefault(command.words, command)
    return list(found.values())


@pytest.mark.parametrize("command", commands(), ids=str)
def test_a_command_of_the_documents_runs(command, project, built):
    RUNS[command.words[0]](list(command.words), project, built)


def test_every_benchmark_says_what_it_can_do(project):
    for name in sorted(BENCHMARKS):
        run([sys.executable, f"benchmarks/{name}", "--help"], project)
