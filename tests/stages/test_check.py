"""The command: a constant file for a right params.yaml, one line a fault for a wrong one, and nothing written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.fixture
def check(tmp_path, project_root, shipped_params):
    """Run the stage on the project's params.yaml with one text put for another."""

    def run(old="", new="", started=("-m", "stages.check")) -> subprocess.CompletedProcess:
        text = (project_root / "params.yaml").read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "params.yaml").write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
        shutil.copytree(project_root / "corpora", tmp_path / "corpora", dirs_exist_ok=True)
        command, environment = [sys.executable, *started], os.environ | {"PYTHONPATH": str(project_root)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_any_right_file_gives_the_same_bytes(check, tmp_path):
    out = tmp_path / "data/check/params.txt"
    for beam_size in (5, 1):
        said = check("beam_size: 5", f"beam_size: {beam_size}")
        assert (said.returncode, said.stderr) == (0, "")
        assert out.read_bytes() == b"params.yaml is valid\n"


def test_every_fault_is_a_line(check, tmp_path):
    said = check("sizes:\n  - tiny", "speed: fast\n  sizes:\n  - tyni")
    assert said.returncode == 1
    assert said.stdout == ""
    assert (
        said.stderr
        == "error: params.yaml: build.speed: unknown key; expected one of corpora, models, more_seeds, sizes, "
        "vocabularies\n"
    )
    assert sorted(os.listdir(tmp_path)) == ["corpora", "params.yaml", "work"]


def test_no_yaml_is_a_line(check, tmp_path):
    said = check("sizes:\n  - tiny", "sizes: [tiny")
    assert said.returncode == 1
    assert said.stderr.startswith("error: params.yaml line ")
    assert said.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["corpora", "params.yaml", "work"]


@pytest.mark.skipif(not FULL.is_char_device(), reason="this system has no /dev/full")
def test_full_disk_is_a_line(check, tmp_path):
    out = tmp_path / "data/check"
    out.mkdir(parents=True)
    (out / ".params.txt.full.partial").symlink_to(FULL)
    told = "from pipeline import files; files.token = lambda: 'full'"
    stage = "import runpy; runpy.run_module('stages.check', run_name='__main__', alter_sys=True)"
    said = check(started=("-c", f"{told}; {stage}"))
    assert said.returncode == 1
    assert said.stderr == "error: data/check/params.txt: the disk is full; free some space and repeat the command\n"
    assert os.listdir(out) == []
