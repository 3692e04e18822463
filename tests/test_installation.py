"""What `make install` and the wheel give: locks that hold all, errors in one line, and a package that translates."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.toys import packages
from tests.toys.systems import PARTS

ROOT = Path(__file__).parents[1]
# Packages of the stages; hidden, an import of one of them fails.
HIDDEN = ("dvc", "mlflow", "datasets", "sacrebleu", "pandas", "plotly", "psutil", "requests", "ctranslate2")


def pinned(name: str) -> dict[str, Requirement]:
    """The requirements of a lock, by name."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line.removesuffix("\\").strip()) for line in lines if "==" in line and line[0] != "#"]
    return {canonicalize_name(one.name): one for one in requirements}


def test_the_locks_hold_all_that_the_project_asks_for():
    locked = pinned("requirements.lock") | pinned("torch.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for text in chain(project["dependencies"], *project["optional-dependencies"].values()):
        wanted = Requirement(text)
        [version] = locked[canonicalize_name(wanted.name)].specifier
        assert version.operator == "=="
        assert wanted.specifier.contains(version.version, prereleases=True), text


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make on the project's Makefile and locks in a folder."""
    for name in ("Makefile", "requirements.lock", "torch.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment |= {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_make_says_what_is_missing(tmp_path):
    done = make(tmp_path, "install")
    assert done.stderr.startswith("make: DVC needs a git repository here, and git says: fatal: not a git repository")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    done = make(tmp_path, "install", "PYTHON=false")
    assert done.stderr.startswith("make: needs Python 3.11, 3.12 or 3.13; name one: make install PYTHON=<path>")
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(("folder", "is_moved"), [("/elsewhere", True), ("", False)])
def test_a_venv_of_another_folder_is_built_anew(tmp_path, folder, is_moved):
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/pip").write_text(f"#!{folder or tmp_path}/.venv/bin/python\n")
    (tmp_path / ".venv/.installed").touch()
    assert ("built for another folder" in make(tmp_path, "--dry-run", "check").stdout) is is_moved


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of a copy of the project, unpacked."""
    root = tmp_path_factory.mktemp("wheel")
    for name in ("pipeline", "stages"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", "dist", "."]
    subprocess.run(pip, cwd=root, check=True, capture_output=True)
    [path] = (root / "dist").iterdir()
    with zipfile.ZipFile(path) as archive:
        archive.extractall(root / "unpacked")
    return root / "unpacked"


def test_the_wheel_is_one_package_that_names_itself(wheel):
    assert {path.name for path in wheel.iterdir() if not path.name.endswith(".dist-info")} == {"nmt_pipeline"}
    for path in {*wheel.rglob("*.py")} - {wheel / "nmt_pipeline/tracking/served.py"}:  # MLflow runs that in a checkout
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [
            line for line in lines if line.lstrip().startswith(("from pipeline", "import pipeline", "from stages"))
        ]


def test_the_wheel_translates_without_the_packages_of_the_stages(wheel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = packages.build(tmp_path)
    code = f"import sys; sys.modules |= dict.fromkeys({HIDDEN});from nmt_pipeline.commands import nmt; nmt.app()"
    command = [sys.executable, "-c", code, "translate", "--model", str(folder), PARTS["test"][0]]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(wheel)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
