"""A stage, or only the `dvc` that runs it, killed at any moment and repeated at once: the same bytes as undisturbed."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import tiny_project
from tests.test_repro import dvc_leaves_nothing_behind, environment  # noqa: F401 (a fixture of every test here)
from tests.tiny_project import ROOT, Stage

STAGES = tiny_project.stages()
QUICK = ("download", "clean", "split", "vocabulary", "encode")  # half a second each
# As DVC does: runs a command, and tells nobody when it is killed.
DVC = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
WAYS = ("stage", "parent", "both", "two")  # what is killed; or nobody, and another begins beside it
SECONDS = 600


class Kill(NamedTuple):
    """One fault: which stage, what of it is killed, by what, and after which share of its time."""

    stage: Stage
    way: str
    by: signal.Signals
    after: float


class Built(NamedTuple):
    """The project, how long each stage took, and what it left."""

    root: Path
    seconds: dict[str, float]
    outs: dict[str, dict[str, bytes]]


@pytest.fixture(scope="module")
def built(tmp_path_factory, request) -> Built:
    """The tiny project after all its stages, or after the quick ones."""
    root = tmp_path_factory.mktemp("built")
    tiny_project.lay_out(root)
    names = list(STAGES) if request.config.getoption("--all-faults") else ["check", "download", "clean"]
    seconds = {}
    for name in names:
        began = time.monotonic()
        tiny_project.run(STAGES[name], root)
        seconds[name] = time.monotonic() - began
    return Built(root, seconds, {name: tiny_project.contents(root, STAGES[name].outs) for name in names})


def test_killed_stages_repeated_at_once_leave_the_same_bytes(built, tmp_path, campaign):
    """Two at a time, each in a copy of its own."""
    rng = random.Random(time.time_ns())
    kills = [drawn(rng, STAGES[name], number) for name, number in chosen(campaign)]
    copies = [shutil.copytree(built.root, tmp_path / f"copy{number}") for number in range(2)]

    def try_all(mine: list[Kill], root: Path) -> list[str]:
        wrong = []
        for kill in mine:
            try:
                with campaign.trying(f"killed stage {kill.stage.name}"):
                    try_one(kill, root, built)
            except AssertionError as error:
                wrong.append(f"{kill}: {error}")
                shutil.rmtree(root)
                shutil.copytree(built.root, root)
        return wrong

    with ThreadPoolExecutor(2) as pool:
        wrong = [line for found in pool.map(try_all, (kills[::2], kills[1::2]), copies) for line in found]
    assert not wrong, "\n".join(wrong)


def test_full_disks_are_one_line_and_leave_nothing(built, tmp_path, campaign):
    """On a small disk of its own: full from the start, and full before the stage is done."""
    root = tmp_path / "disk"
    root.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(root)]
    if not shutil.which("mount") or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        shutil.copytree(built.root, root, dirs_exist_ok=True)
        for name in STAGES if campaign.full else ["clean"]:
            for free in (0, 16384) if campaign.full else (0,):
                with campaign.trying("full disk during a stage"):
                    try_full(STAGES[name], root, free, built)
    finally:
        subprocess.run(["umount", str(root)], check=True)


def try_full(stage: Stage, root: Path, free: int, built: Built) -> None:
    """Run a stage with only so many bytes left; once there is room, it leaves the same bytes as undisturbed."""
    shutil.rmtree(root / "work", ignore_errors=True)
    tiny_project.remove(root, stage.outs)
    fill(root / "filler", free)
    again = start(stage, root)
    said = again.communicate(timeout=SECONDS)[1]
    (root / "filler").unlink()
    assert "Traceback" not in said, said
    assert "the disk is full" in said if again.returncode else True, said
    assert again.returncode in (0, 1), said
    parents = {(root / out).parent for out in stage.outs}
    assert not [path for parent in parents for path in parent.glob(".*")], "litter"
    shutil.rmtree(root / "work", ignore_errors=True)
    tiny_project.remove(root, stage.outs)
    tiny_project.run(stage, root)
    assert tiny_project.contents(root, stage.outs) == built.outs[stage.name]


def fill(path: Path, free: int) -> None:
    """Fill a disk with one file, but for some bytes."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 20)):
            continue
    os.truncate(path, path.stat().st_size - free)


def test_killed_dvc_repeated_at_once_leaves_the_same_bytes(tmp_path, campaign):
    """By DVC itself: what it notes in dvc.lock and keeps in its cache is what an undisturbed run gives."""
    root, rng = project(tmp_path / "project"), random.Random(time.time_ns())
    names = ["download@toy", "clean@toy", "split@toy", "vocabulary@toy-bpe", "encode@toy-bpe"]
    targets = names if campaign.full else names[:1]
    repro(root, targets[-1])
    lock, kept, seconds = (root / "dvc.lock").read_bytes(), cached(root), {}
    for name in targets:
        began = time.monotonic()
        repro(root, "--single-item", "--force", name)
        seconds[name] = time.monotonic() - began
    for number in range(campaign.trials(full=25, short=1)):
        name, by = targets[number % len(targets)], rng.choice([signal.SIGTERM, signal.SIGKILL])
        with campaign.trying("killed dvc"):
            command = [sys.executable, "-m", "dvc", "repro", "--single-item", "--force", name]
            first = subprocess.Popen(
                command, cwd=root, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(rng.uniform(0.4, 1.1) * seconds[name])
            end(first.pid, by)
            first.wait(SECONDS)
            (root / "dvc.lock").write_bytes(lock)  # a killed dvc may have left half of it
            repro(root, "--single-item", "--force", name)
            assert (root / "dvc.lock").read_bytes() == lock
            assert cached(root) == kept


def project(root: Path) -> Path:
    """A copy of this project, with the tiny params.yaml and nothing built."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    found = subprocess.run(listed, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    for name in filter(None, found.stdout.split("\0")):
        if not name.startswith(("dvc.lock", "metrics/", "tests/", "docs/", "benchmarks/")) and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name)
    tiny_project.lay_out(root)
    subprocess.run(["git", "init", "--quiet"], cwd=root, env=environment(), check=True)
    return root


def repro(root: Path, *arguments: str) -> None:
    """Run `dvc repro`, which is to end well."""
    command = [sys.executable, "-m", "dvc", "repro", *arguments]
    said = subprocess.run(command, cwd=root, env=environment(), capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def cached(root: Path) -> set[str]:
    """Every file and folder that DVC keeps."""
    return {path.relative_to(root).as_posix() for path in (root / ".dvc/cache/files").rglob("*") if path.is_file()}


def chosen(campaign) -> list[tuple[str, int]]:
    """The stages to kill, each with how often it came before."""
    if not campaign.full:
        return [("download", 1), ("clean", 1), ("download", 0)]
    return [(name, number) for name in STAGES for number in range(25 if name in QUICK else 9)]


def drawn(rng: random.Random, stage: Stage, number: int) -> Kill:
    """A kill at a random moment; the ways by turns."""
    by = rng.choice([signal.SIGTERM, signal.SIGKILL])
    return Kill(stage, WAYS[number % len(WAYS)], by, rng.uniform(0.1, 1.1))


def try_one(kill: Kill, root: Path, built: Built) -> None:
    """Run the stage, kill it, repeat it at once, and look at what it leaves: all, and nothing else."""
    stage, outs = kill.stage, kill.stage.outs
    shutil.rmtree(root / "work/train", ignore_errors=True)
    tiny_project.remove(root, outs)
    first = start(stage, root)
    time.sleep(kill.after * built.seconds[stage.name])
    if kill.way in ("stage", "both"):
        end(child(first.pid), kill.by)
    if kill.way in ("parent", "both"):
        end(first.pid, kill.by)
    if first.poll() is None and kill.way == "stage":
        first.wait(SECONDS)
    tiny_project.remove(root, outs)
    again = start(stage, root)
    said = again.communicate(timeout=SECONDS)[1]
    assert again.returncode == 0, said
    if kill.way == "two":
        first.wait(SECONDS)
    first.communicate(timeout=SECONDS)
    assert tiny_project.contents(root, outs) == built.outs[stage.name]
    parents = {(root / out).parent for out in outs}
    assert not [path for parent in parents for path in parent.glob(".*")], "litter"


def start(stage: Stage, root: Path) -> subprocess.Popen[str]:
    """Start a stage as DVC does, below a process that only waits for it."""
    return subprocess.Popen(
        [sys.executable, "-c", DVC, *stage.command],
        cwd=root,
        env=tiny_project.environment() | {"DVC_STAGE": stage.name},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def child(pid: int) -> int | None:
    """The first process that another one started, if there is one yet."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return None
    return int(found[0]) if found else None


def end(pid: int | None, by: signal.Signals) -> None:
    """Send a signal to a process, if it is still there."""
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, by)
