"""A user's mistake is one message and exit 1, a bug a traceback; run as a command, as a stage is."""

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pipeline import cli, files

FULL = Path("/dev/full")


@pytest.fixture
def run(tmp_path, project_root):
    """Run a stage whose `main` has the given body, in tmp_path."""

    def run_main(body, *arguments, signature="") -> subprocess.CompletedProcess:
        script = tmp_path / "stage.py"
        script.write_text(
            "import errno, os\nfrom pathlib import Path\nfrom typing import Annotated\nimport typer\n"
            "from pipeline import cli, files, params\n"
            f"def main({signature}) -> None:\n    {body}\ncli.run(main)\n"
        )
        command = [sys.executable, str(script), *arguments]
        environment = os.environ | {"PYTHONPATH": str(project_root)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run_main


def test_arguments_reach_main(run):
    said = run("print(corpus, size)", "toy", "tiny", signature="corpus: str, size: str")
    assert (said.returncode, said.stdout, said.stderr) == (0, "toy tiny\n", "")


def test_a_further_seed_is_a_stage_of_its_own(run):
    """The argument may be missing; with it, the stage has the name that DVC gives it."""
    signature = "size: str, seed: Annotated[str, typer.Argument()] = ''"
    body = "from pipeline import events; print(events.stage, seed)"
    assert run(body, "tiny", signature=signature).stdout == "stage@tiny \n"
    assert run(body, "tiny", "2", signature=signature).stdout == "stage_seed@tiny-2 2\n"


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


def test_escape_codes_in_a_message_are_shown(run):
    said = run("raise files.DataError('a\\x1b[2J: is\\nempty')")
    assert (said.returncode, said.stderr) == (1, "error: a\\x1b[2J: is\nempty\n")


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
            "from pipeline.system import Build; Build.model_validate({})",
            "pydantic_core._pydantic_core.ValidationError: 5 ",
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
    (tmp_path / ".out.txt.full.partial").symlink_to(FULL)
    said = run("files.token = lambda: 'full'; files.write_lines(Path('out.txt'), ['a'])")
    assert said.returncode == 1
    assert said.stderr == "error: out.txt: the disk is full; free some space and repeat the command\n"
    assert sorted(os.listdir(tmp_path)) == ["stage.py", "work"]


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
    assert sorted(os.listdir(tmp_path)) == ["stage.py", "work"]


def start(run_in, body, *, through=(), **environment):
    """Start a stage of this body, below other commands where there are some."""
    script = run_in / "stage.py"
    script.write_text(
        "import os, sys, time\nfrom pathlib import Path\nfrom pipeline import cli\n"
        f"def main(corpus: str) -> None:\n    {body}\ncli.run(main)\n"
    )
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [*through, sys.executable, str(script), "toy"],
        cwd=run_in,
        env=os.environ | {"PYTHONPATH": str(root)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


LOCK = "stage@toy"
STAYS = "print('begun', flush=True); time.sleep(600)"
PARENT = (sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")


def test_a_second_process_waits_for_the_first(tmp_path):
    first = start(tmp_path, STAYS)
    assert first.stdout.readline() == "begun\n"
    second = start(tmp_path, "print('done')")
    assert second.stderr.readline() == f"{LOCK}: waits for process {first.pid}, which runs the same\n"
    first.kill()
    first.communicate()
    assert second.communicate(timeout=300) == ("done\n", "")
    assert second.returncode == 0
    assert os.listdir(tmp_path / "work/locks") == [LOCK]


def test_one_that_waits_too_long_names_who_is_there(tmp_path):
    first = start(tmp_path, STAYS)
    assert first.stdout.readline() == "begun\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "IN_USE_SECONDS", 0.0)
        patch.chdir(tmp_path)
        with pytest.raises(cli.InUseError) as error, cli.held(cli.LOCKS / LOCK):
            pytest.fail("two at a time")
    assert str(error.value) == f"{LOCK}: is run by process {first.pid} already; expected no other, end it first"
    first.kill()
    first.communicate()


def test_a_lock_that_was_deleted_is_taken_anew(tmp_path):
    with cli.held(tmp_path / "a/lock"):
        shutil.rmtree(tmp_path / "a")
        with cli.held(tmp_path / "a/lock"):
            assert (tmp_path / "a/lock").read_text() == str(os.getpid())


def test_a_file_system_without_locks_is_no_obstacle(tmp_path, monkeypatch):
    def fail(number, *_):
        raise OSError(number, os.strerror(number))

    for number in files.NO_LOCKS:
        monkeypatch.setattr(fcntl, "flock", lambda *_, number=number: fail(number))
        with cli.held(tmp_path / "lock"):
            assert (tmp_path / "lock").read_text() == str(os.getpid())
    monkeypatch.setattr(fcntl, "flock", lambda *_: fail(errno.EIO))
    with pytest.raises(OSError, match="Input/output"), cli.held(tmp_path / "lock"):
        pytest.fail("held")


def test_ones_that_do_not_write_need_no_lock(tmp_path):
    """As the ranks of a training that do not lead."""
    first = start(tmp_path, STAYS)
    assert first.stdout.readline() == "begun\n"
    script = (tmp_path / "stage.py").read_text()
    (tmp_path / "stage.py").write_text(script.replace("cli.run(main)", "cli.run(main, writes=lambda: False)"))
    second = subprocess.Popen(first.args, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])})
    with pytest.raises(subprocess.TimeoutExpired):  # sleeps in its main
        second.wait(2)
    for process in (first, second):
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells no child")
def test_a_stage_of_dvc_ends_with_it(tmp_path):
    first = start(tmp_path, "print(os.getpid(), flush=True); time.sleep(600)", through=PARENT, DVC_STAGE="stage@toy")
    stage = psutil.Process(int(first.stdout.readline()))
    first.kill()
    first.wait()
    psutil.wait_procs([stage], timeout=60)
    assert not stage.is_running()


def test_a_command_of_ones_own_outlives_what_started_it(tmp_path):
    first = start(tmp_path, "print(os.getpid(), flush=True); time.sleep(600)", through=PARENT)
    stage = psutil.Process(int(first.stdout.readline()))
    first.kill()
    first.wait()
    with pytest.raises(psutil.TimeoutExpired):
        stage.wait(1)
    stage.kill()


@pytest.mark.parametrize(("own", "status"), [(True, 128 + signal.SIGTERM), (False, 0)])
def test_what_outlived_dvc_does_nothing(tmp_path, project_root, own, status):
    """The parent's session is another one, as that of what adopts an orphan is."""
    environment = os.environ | {"DVC_STAGE": "train", "PYTHONPATH": str(project_root)}
    code = "from pipeline.cli import end_with_parent; end_with_parent()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, start_new_session=own, cwd=tmp_path, check=False)
    assert done.returncode == status


def test_what_lost_its_parent_while_it_was_imported_does_nothing(tmp_path, project_root):
    environment = os.environ | {"DVC_STAGE": "train", "PYTHONPATH": str(project_root)}
    code = "from pipeline import cli; cli.PARENT = 0; cli.end_with_parent()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 128 + signal.SIGTERM


def test_where_the_kernel_tells_no_child_it_looks_itself(monkeypatch):
    ended = []
    parents = iter([7, 7, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "kill", lambda pid, by: ended.append((pid, by)))
    cli.terminate_with_parent(7, seconds=0.0)
    assert ended == [(os.getpid(), signal.SIGTERM)]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("PermissionError(errno.EACCES, 'Permission denied', 'a')", "a: Permission denied"),
        ("OSError(errno.EROFS, 'Read-only file system', 'a')", "a: Read-only file system"),
        ("NotADirectoryError(errno.ENOTDIR, 'Not a directory', 'a')", "a: Not a directory"),
    ],
)
def test_a_path_that_cannot_be_used_is_one_line(run, error, said):
    assert run(f"raise {error}").stderr == f"error: {said}; expected a path of your own to read or to write\n"


def test_an_output_that_nobody_reads_ends_quietly(tmp_path, project_root):
    (tmp_path / "stage.py").write_text(
        "from pipeline import cli\ndef main() -> None:\n    print('x' * 1000000)\ncli.run(main)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash", sys.executable, "stage.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_closed_streams_are_no_files(tmp_path, project_root):
    """What is opened first would have their numbers, and what libraries print would go into it."""
    (tmp_path / "stage.py").write_text(
        "import sys\nfrom pipeline import cli\ndef main() -> None:\n"
        "    with open('out', 'w') as file:\n        file.write(str(file.fileno()))\n"
        "    print('to nobody', file=sys.stderr)\ncli.run(main)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(project_root)}
    command = ["bash", "-c", '"$@" <&- >&- 2>&-', "bash", sys.executable, "stage.py"]
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode == 0
    assert int((tmp_path / "out").read_text()) > 2


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


def test_objects_are_frozen_before_python_looks_for_cycles_at_the_end():
    """What was registered first runs last, so it sees what `cli` did; torch's objects would cost 0.4 s."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0)); from pipeline import cli"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
