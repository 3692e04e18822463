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
from tests.toys.dvc_project import Project, environment

from pipeline.commands import lockfile
from tests.toys import dvc_project, tiny_project
from tests.toys.tiny_project import Built, Stage

pytestmark = pytest.mark.usefixtures("dvc_leaves_nothing_behind")
STAGES = tiny_project.stages()
QUICK = ("download", "clean", "split", "vocabulary", "encode")  # half a second each
# As DVC does: runs a command, and tells nobody when it is killed.
DVC = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
WAYS = ("stage", "parent", "both", "two")  # what is killed; or nobody, and another begins beside it
SHELLS = ("/bin/sh", "/bin/bash")  # dash stays between dvc and the stage, which then outlives a killed dvc
SECONDS = 600


class Kill(NamedTuple):
    """One fault: which stage, what of it is killed, by what, and after which share of its time."""

    stage: Stage
    way: str
    by: signal.Signals
    after: float


def test_killed_stages_repeated_at_once_leave_the_same_bytes(built, tmp_path, campaign):
    """Two at a time, each in a copy of its own."""
    rng = random.Random(time.time_ns())
    kills = [drawn(rng, STAGES[name], number) for name, number in chosen(campaign)]
    copies = [shutil.copytree(built.root, tmp_path / f"copy{number}") for number in range(2)]

    def try_all(mine: list[Kill], root: Path) -> None:
        for kill in mine:
            which = f"{kill.way} by {kill.by.name} after {kill.after:.2f} of its time"
            with campaign.trying(f"killed stage {kill.stage.name}", which) as fault:
                try_one(kill, root, built)
            if not fault.held:
                shutil.rmtree(root)
                shutil.copytree(built.root, root)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(try_all, (kills[::2], kills[1::2]), copies))


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
                with campaign.trying("full disk during a stage", f"{name}, {free} bytes left"):
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


def test_killed_dvc_repeated_at_once_leaves_the_same_bytes(tmp_path, campaign, monkeypatch):
    """By DVC itself: what it notes in dvc.lock and keeps in its cache is what an undisturbed run gives."""
    root, rng = dvc_project.copy(tmp_path / "project"), random.Random(time.time_ns())
    tiny_project.lay_out(root)
    repro = Project(root).repro
    names = ["download@toy", "clean@toy", "split@toy", "vocabulary@toy-bpe", "encode@toy-bpe"]
    targets = names if campaign.full else names[:1]
    repro(targets[-1])
    monkeypatch.chdir(root)
    lockfile.keep_or_restore()
    lock, kept, seconds = (root / "dvc.lock").read_bytes(), cached(root), {}
    for name in targets:
        began = time.monotonic()
        repro("--single-item", "--force", name)
        seconds[name] = time.monotonic() - began
    for number in range(campaign.trials(full=25, short=1)):
        name, by = targets[number % len(targets)], rng.choice([signal.SIGTERM, signal.SIGKILL])
        shell = SHELLS[number // len(targets) % len(SHELLS)]
        with campaign.trying("killed dvc", f"{name} by {by.name}, shell {shell}"):
            command = [sys.executable, "-m", "dvc", "repro", "--single-item", "--force", name]
            first = subprocess.Popen(
                command,
                cwd=root,
                env=environment() | {"SHELL": shell},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(rng.uniform(0.4, 1.1) * seconds[name])
            end(first.pid, by)
            first.wait(SECONDS)
            lockfile.keep_or_restore()  # as `nmt check` does: a killed dvc may have left parts of its own files
            (root / "dvc.lock").write_bytes(lock)  # cut between two lines, it can be read: stages come from the cache
            repro("--single-item", "--force", name)
            assert (root / "dvc.lock").read_bytes() == lock
            assert cached(root) == kept


def cached(root: Path) -> set[str]:
    """Every file and folder that DVC keeps."""
    return {path.relative_to(root).as_posix() for path in (root / ".dvc/cache/files").rglob("*") if path.is_file()}


def chosen(campaign) -> list[tuple[str, int]]:
    """The stages to kill, each with how often it came before."""
    if not campaign.full:
        return [("download", 1), ("clean", 1), ("download", 0)]
    return [(name, number) for name in STAGES for number in range(28 if name in QUICK else 5)]


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
