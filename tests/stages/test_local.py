"""The stage `local` as dvc.yaml runs it."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {"train": {"kind": "local", "source": "my/x.fr", "target": "my/x.en"}}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "corpora").mkdir()
    about = {"source_language": "fr", "target_language": "en", "parts": PARTS}
    (tmp_path / "corpora/toy.yaml").write_text(json.dumps(about))
    (tmp_path / "my").mkdir()
    (tmp_path / "my/x.fr").write_text("oui\n")
    (tmp_path / "my/x.en").write_text("yes\n")
    return tmp_path


def run(project):
    command = [sys.executable, "-m", "stages.local", "toy"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_the_checksums_stand_in_a_file(project):
    done = run(project)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((project / "data/local/toy.json").read_text()) == {
        "my/x.fr": hashlib.sha256(b"oui\n").hexdigest(),
        "my/x.en": hashlib.sha256(b"yes\n").hexdigest(),
    }


def test_a_missing_file_ends_the_command(project):
    (project / "my/x.en").unlink()
    done = run(project)
    assert done.returncode == 1
    assert done.stderr == "error: my/x.en: no such file; expected the one that the corpus's file names\n"
    assert not (project / "data/local").exists()
