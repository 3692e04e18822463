"""The commands of the documents are run: `make slow`.

What builds is run by DVC on its whole graph, each stage's command replaced by one that writes its outputs' names:
`--dry` of DVC 3.67 wants the outputs of earlier stages to be there. What installs or serves is `make -n`.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.documents import Command, read
from tests.test_documents import NAMES, PROGRAMS, ROOT
from tests.toys import packages
from tests.toys.systems import SYSTEM

pytestmark = pytest.mark.slow
SECONDS = 1800

# DVC's commands that only look, and those that build; the others are left at what test_documents.py says of them.
LOOKS = ("dag", "status", "params diff", "metrics diff", "metrics show", "exp show", "stage list")
BUILDS = ("repro", "exp run")
LONG = ("new-corpus", "repro", "repro-portable", "search", "serve")  # of `nmt`: these build, train or serve for minutes
STUB = """
for path; do
    mkdir -p "$(dirname "$path")"
    case $path in *.*) echo "{}" > "$path" ;; *) mkdir -p "$path" && echo "{}" > "$path/file.json" ;; esac
done
"""


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
    (root / "dvc.lock").unlink(missing_ok=True)
    (root / "stub.sh").write_text(STUB)
    replace_commands(root / "dvc.yaml")
    for words in (["init", "-q"], ["config", "user.name", "a"], ["config", "user.email", "a@b"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "All of it"], cwd=root, check=True)
    return root


def replace_commands(path: Path) -> None:
    """Have every stage of a dvc.yaml write its outputs, and do nothing else."""
    yaml = YAML()
    document = yaml.load(path)
    stages = [stage.get("do", stage) for stage in document["stages"].values()]
    read = {dep for stage in stages for dep in paths(stage, "deps")}
    for stage in stages:
        outs = paths(stage, "outs", "metrics", "plots")
        inside = sorted(dep for dep in read if dep.startswith(tuple(f"{out}/" for out in outs)))
        stage["cmd"] = f"sh stub.sh {' '.join([*outs, *inside])}"
    yaml.dump(document, path)


def paths(stage: dict, *kinds: str) -> list[str]:
    """What a stage of a dvc.yaml reads or writes, each with or without options."""
    listed = [one for kind in kinds for one in stage.get(kind, [])]
    return [one if isinstance(one, str) else next(iter(one)) for one in listed]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with a tiny Transformer, built and packaged."""
    root = tmp_path_factory.mktemp("built")
    with contextlib.chdir(root):
        assert packages.build(root).name == SYSTEM
    return root


def run(words: list[str], folder: Path, ends: tuple[int, ...] = (0,)) -> None:
    """Run a command of this environment, one sentence its standard input, and see that it ends as it should."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "DVC_NO_ANALYTICS": "1",
    }
    done = subprocess.run(
        words, cwd=folder, env=environment, input="le chat noir\n", capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode in ends, f"status {done.returncode}: {done.stdout[-500:]} {done.stderr[-1500:]}"


def run_dvc(words: list[str], project: Path, built: Path) -> None:
    """What looks and what builds, in the params.yaml that its -S leaves; then all is as it was."""
    name = " ".join(words[1:3])
    if name.startswith(BUILDS + LOOKS):
        run([found for word in words for found in expand(word, project)], project)
        subprocess.run(["git", "checkout", "-q", "."], cwd=project, check=True)


def expand(word: str, folder: Path) -> list[str]:
    """The files that a pattern names, as a shell gives them; any other word as it is."""
    found = sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
    return found or [word]


def run_nmt(words: list[str], project: Path, built: Path) -> None:
    """Each command on the tiny system, trainings of two updates; what needs all of params.yaml, in the project."""
    words = list(words)
    while words.count("--system") > 1:  # only one is built
        last = len(words) - 1 - words[::-1].index("--system")
        del words[last : last + 2]
    for option, value in (("--system", SYSTEM), ("--file", "data/split/toy/test.source.txt")):
        if option in words:
            words[words.index(option) + 1] = value
    words = [f"models/{SYSTEM}" if word.startswith("models/") else word for word in words]
    if words[1] == "copy-task":
        words += ["--updates", "2"]  # the last one counts; 1: not learnt in so few
    if words[1] in LONG:
        words = [*words[:2], "--help"]
    if words[1] == "--install-completion":
        words[1] = "--help"  # it writes into the configuration of the reader's shell
    folder, ends = (
        (project if words[1] in ("anatomy", "check", "copy-task", "dag", "list") else built),
        ((0, 1) if words[1] == "copy-task" else (0,)),
    )
    run([sys.executable, "-m", "pipeline.commands.nmt", *words[1:]], folder, ends)


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
