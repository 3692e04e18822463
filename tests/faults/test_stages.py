"""Full disks and broken files: a stage says so in one line, leaves no litter, and the next run is right."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toys.project import SECONDS, SYSTEMS, Project, environment

pytestmark = pytest.mark.faults
SYSTEM = SYSTEMS[0]
OUTS = {"train": f"runs/{SYSTEM}/train", "package": f"models/{SYSTEM}"}


def start(project: Project, stage: str) -> subprocess.Popen[str]:
    """Start the stage of a system as DVC does."""
    command = [sys.executable, "-m", f"stages.{stage}", SYSTEM]
    return subprocess.Popen(command, cwd=project.root, env=environment(), stderr=subprocess.PIPE, text=True)


def run(project: Project, stage: str) -> tuple[int, str]:
    """The status of a stage, and what it says."""
    process = start(project, stage)
    said = process.communicate(timeout=SECONDS)[1]
    return process.returncode, said


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def copy(built, tmp_path) -> Project:
    """The built project, to spoil, with copies in the place of links to DVC's cache."""
    return built.copy(tmp_path / "copy")


@pytest.fixture
def small_disk(built, tmp_path) -> Iterator[Project]:
    """The built project on a disk of its own, filled but for 16 KB by a file `filler`."""
    root = tmp_path / "disk"
    root.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", str(root)]
    if not shutil.which("mount") or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        ignored = shutil.ignore_patterns(".git", "cache", "docs", "tests")
        shutil.copytree(built.root, root, dirs_exist_ok=True, ignore=ignored)
        yield Project(root)
    finally:
        subprocess.run(["umount", str(root)], check=True)


def fill(path: Path, free: int) -> None:
    """Fill a disk with one file, but for some bytes."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 20)):
                continue
        except OSError:
            pass
    os.truncate(path, path.stat().st_size - free)


@pytest.mark.parametrize("stage", OUTS)
def test_a_full_disk_is_one_line_and_leaves_nothing(small_disk, stage):
    out = small_disk.root / OUTS[stage]
    expected = contents(out)
    shutil.rmtree(out)
    shutil.rmtree(small_disk.root / "work/train", ignore_errors=True)
    fill(small_disk.root / "filler", 16384)
    status, said = run(small_disk, stage)
    assert status == 1, said
    assert "the disk is full" in said
    assert "Traceback" not in said
    assert not list(out.parent.glob(".*"))
    (small_disk.root / "filler").unlink()
    assert run(small_disk, stage)[0] == 0
    assert contents(out) == expected


BROKEN = {  # stage -> a file that it reads
    "train": "data/encode/toy-bpe/train",
    "decode": f"runs/{SYSTEM}/average",
    "package": f"data/score/{SYSTEM}",
}


@pytest.mark.parametrize("stage", BROKEN)
@pytest.mark.parametrize("how", ["cut to half", "random bytes"])
def test_a_broken_file_is_one_line(copy, stage, how):
    place = copy.root / BROKEN[stage]
    for path in [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file()):
        content = path.read_bytes()
        path.unlink()  # it may be a link to DVC's cache
        path.write_bytes(content[: len(content) // 2] if how == "cut to half" else os.urandom(len(content)))
    status, said = run(copy, stage)
    assert status == 1, said
    assert said.count("error: ") == 1
    assert "Traceback" not in said
