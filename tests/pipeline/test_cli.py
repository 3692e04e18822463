"""A user's mistake is one message and exit 1, a bug a traceback; run as a command, as a stage is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import cli

FULL = Path("/dev/full")


@pytest.fixture
def run(tmp_path, project_root):
    """Run a stage whose `main` has the given body, in tmp_path."""

    def run_main(body, *arguments, signature="") -> subprocess.CompletedProcess:
        script = tmp_path / "stage.py"
        script.write_text(
            "import errno, os\nfrom pathlib import Path\nfrom pipeline import cli, files, params\n"
            f"def main({signature}) -> None:\n    {body}\ncli.run(main)\n"
        )
        command = [sys.executable, str(script), *arguments]
        environment = os.environ | {"PYTHONPATH": str(project_root)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run_main


def test_arguments_reach_main(run):
    said = run("print(corpus, size)", "toy", "tiny", signature="corpus: str, size: str")
    assert (said.returncode, said.stdout, said.stderr) == (0, "toy tiny\n", "")


def test_missing_argument_is_named(run):
    said = run("pass", "toy", signature="corpus: str, size: str")
    assert said.returncode == 2
    assert "Missing argument 'size'" in said.stderr


def test_no_section_is_one_line(run):
    said = run("params.Section.load('build')")
    assert said.returncode == 1
    assert said.stderr == "error: params.yaml: no such file; expected in the folder the command runs in\n"


def test_wrong_data_is_one_line(run, tmp_path):
    (tmp_path / "a").write_bytes(b"\xff\n")
    said = run("list(files.read_lines(Path('a')))")
    assert said.returncode == 1
    assert said.stderr == "error: a line 1: invalid UTF-8, got byte 0xff at column 1; expected text in UTF-8\n"


def test_bug_is_a_traceback(run):
    said = run("{}['key']")
    assert said.returncode == 1
    assert "Traceback" in said.stderr
    assert "KeyError: 'key'" in said.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise files.DataError('a: is empty')", "a: is empty"),
        ("raise params.ParamsError('params.yaml: b: is missing')", "params.yaml: b: is missing"),
        ("from pipeline.training.loop import DivergedError; raise DivergedError('update 2')", "update 2"),
        ("from pipeline.layers.embedding import SharedMatrixError; raise SharedMatrixError('tied')", "tied"),
        ("from pipeline.training.copy_task import UnknownModelError; raise UnknownModelError('copy')", "copy"),
    ],
)
def test_a_value_error_of_ours_is_the_users_mistake(run, body, said):
    found = run(body)
    assert (found.returncode, found.stdout, found.stderr) == (1, "", f"error: {said}\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('plain')", "ValueError: plain"),
        ("import numpy; numpy.zeros(3) + numpy.zeros(2)", "ValueError: operands could not be broadcast together"),
        ("import torch; torch.optim.Adam([])", "ValueError: optimizer got an empty parameter list"),
        ("import json; json.loads('{')", "json.decoder.JSONDecodeError: Expecting property name"),
        ("b'\\xff'.decode()", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff"),
        (
            "from pipeline.build import Build; Build.model_validate({})",
            "pydantic_core._pydantic_core.ValidationError: 4 ",
        ),
    ],
)
def test_any_other_value_error_is_a_bug(run, body, said):
    found = run(body)
    assert found.returncode == 1
    assert found.stderr.startswith("Traceback (most recent call last):\n")
    assert f"\n{said}" in found.stderr


def test_other_system_errors_are_bugs(run):
    said = run("open('nothing')")
    assert said.returncode == 1
    assert "Traceback" in said.stderr
    assert "FileNotFoundError" in said.stderr


@pytest.mark.skipif(not FULL.is_char_device(), reason="this system has no /dev/full")
def test_full_disk_is_one_line(run, tmp_path):
    (tmp_path / ".out.txt.partial").symlink_to(FULL)
    said = run("files.write_lines(Path('out.txt'), ['a'])")
    assert said.returncode == 1
    assert said.stderr == "error: out.txt: the disk is full; free some space and repeat the command\n"
    assert sorted(os.listdir(tmp_path)) == ["stage.py"]


@pytest.mark.parametrize(
    "error",
    [
        "OSError(errno.ENOSPC, 'No space left on device')",
        "OSError(errno.EDQUOT, 'Disk quota exceeded')",
        "OSError('100000 requested and 8176 written')",  # numpy.save
        "RuntimeError('Error while serializing: I/O error: No space left on device (os error 28)')",  # safetensors
    ],
)
def test_full_disk_by_any_name(run, error):
    said = run(f"raise {error}")
    assert said.returncode == 1
    assert said.stderr == "error: write: the disk is full; free some space and repeat the command\n"


def test_full_disk_leaves_no_folder(run, tmp_path):
    said = run("with files.new_folder(Path('out')): raise OSError(errno.ENOSPC, 'No space left on device')")
    assert said.stderr == "error: out: the disk is full; free some space and repeat the command\n"
    assert sorted(os.listdir(tmp_path)) == ["stage.py"]


STAGES = {path.stem for path in (Path(__file__).parents[2] / "stages").glob("[!_]*.py")} - {
    "check"
}  # it computes nothing


def spins(project_root, module, **environment) -> set[str]:
    """The spin counts that every OpenMP library of a command has read, as each says when it is loaded."""
    unset = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    told = unset | {"OMP_DISPLAY_ENV": "verbose"} | environment
    command = [sys.executable, "-m", module, "--help"]
    said = subprocess.run(command, cwd=project_root, env=told, capture_output=True, text=True, check=True)
    return set(re.findall(r"GOMP_SPINCOUNT = '(.+)'", said.stderr))


@pytest.mark.skipif(sys.platform != "linux", reason="torch brings libgomp on Linux alone")
@pytest.mark.parametrize("module", [*(f"stages.{name}" for name in sorted(STAGES)), "pipeline.commands.nmt"])
def test_threads_give_way_to_other_programs(project_root, module):
    """In every stage and command, whatever loads OpenMP first."""
    assert spins(project_root, module) <= {cli.SPINS}


@pytest.mark.skipif(sys.platform != "linux", reason="torch brings libgomp on Linux alone")
def test_the_users_own_word_on_spinning_stays(project_root):
    assert spins(project_root, "stages.train") == {cli.SPINS}
    assert spins(project_root, "stages.train", GOMP_SPINCOUNT="7") == {"7"}
    assert cli.SPINS not in spins(project_root, "stages.train", OMP_WAIT_POLICY="active")
