"""What `make install` installs: every package by version and hash, torch alone by version; CI's actions by commit."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

HASH = re.compile(r"sha256:[0-9a-f]{64}")
ACTION = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
# What comes with torch where it comes with CUDA.
CUDA = re.compile(r"(nvidia|cuda)-.*|triton")
SECONDS = 300


@pytest.fixture(scope="module")
def lock(project_root) -> dict[str, tuple[Requirement, list[str]]]:
    """Every requirement of requirements.lock with its hashes, by name."""
    return read_lock((project_root / "requirements.lock").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def torch_lock(project_root) -> dict[str, Requirement]:
    """Every requirement of torch.lock, by name."""
    lines = (project_root / "torch.lock").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(one.name): one for one in found}


def read_lock(text: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Every requirement of a lock with its hashes, by name; a name stands there once."""
    found: dict[str, tuple[Requirement, list[str]]] = {}
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.startswith("#"):
            continue
        requirement, *hashes = re.split(r"\s+--hash=", line.strip())
        name = canonicalize_name(Requirement(requirement).name)
        assert name not in found, line
        found[name] = Requirement(requirement), hashes
    return found


def pinned(requirement: Requirement) -> str:
    """The one version that a requirement allows."""
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", requirement
    assert "*" not in specifier.version, requirement
    return specifier.version


def needed(project_root: Path) -> list[Requirement]:
    """What pyproject.toml asks for: to run, to develop and to build."""
    project = tomllib.loads((project_root / "pyproject.toml").read_text(encoding="utf-8"))
    lists = (
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        project["build-system"]["requires"],
    )
    return [Requirement(text) for one in lists for text in one]


def test_every_package_has_one_version_and_hashes(lock):
    assert len(lock) > 150
    for requirement, hashes in lock.values():
        assert pinned(requirement)
        assert hashes, requirement
        assert all(HASH.fullmatch(one) for one in hashes), requirement
        assert len(hashes) == len(set(hashes)), requirement


def test_torch_alone_has_a_version_without_hashes(lock, torch_lock):
    assert set(torch_lock) == {"torch"}
    assert pinned(torch_lock["torch"])
    assert "torch" not in lock
    assert not [name for name in lock if CUDA.fullmatch(name)]


def test_the_locks_hold_all_that_the_project_asks_for(project_root, lock, torch_lock):
    held = {name: requirement for name, (requirement, _) in lock.items()} | torch_lock
    for requirement in needed(project_root):
        name = canonicalize_name(requirement.name)
        assert name in held, f"{name} is in no lock: CONTRIBUTING.md, `Add or update a package`"
        assert requirement.specifier.contains(pinned(held[name]), prereleases=True), requirement


def test_the_lock_holds_all_that_torch_asks_for(lock):
    wanted = [Requirement(text) for text in requires("torch") or []]
    names = [canonicalize_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    assert "sympy" in names
    assert not [name for name in names if name not in lock and not CUDA.fullmatch(name)]


def test_the_lock_holds_all_that_its_packages_ask_for(lock, torch_lock):
    held = {name: requirement for name, (requirement, _) in lock.items()} | torch_lock
    lacking = []
    for one in distributions():
        owner = canonicalize_name(one.metadata["Name"])
        for text in one.requires or [] if owner in lock else []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                name = canonicalize_name(wanted.name)
                if name not in held or not wanted.specifier.contains(pinned(held[name]), prereleases=True):
                    lacking.append(f"{owner}: {text}")
    assert lacking == []


def test_this_environment_is_the_locks(lock, torch_lock):
    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions()}
    held = {name: requirement for name, (requirement, _) in lock.items()} | torch_lock
    here = {name: one for name, one in held.items() if one.marker is None or one.marker.evaluate()}
    assert {name: installed.get(name, "").partition("+")[0] for name in here} == {
        name: pinned(one) for name, one in here.items()
    }


def test_ci_pins_every_action_by_commit(project_root):
    used = []
    for path in sorted((project_root / ".github/workflows").glob("*.y*ml")):
        used += re.findall(r"\buses: *(.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [one for one in used if not ACTION.fullmatch(one)] == []


def test_pre_commit_runs_nothing_that_is_not_pinned(project_root):
    hooks = YAML(typ="safe").load(project_root / ".pre-commit-config.yaml")["repos"]
    assert [
        one["repo"] for one in hooks if one["repo"] != "local" and not re.fullmatch(r"[0-9a-f]{40}", one["rev"])
    ] == []


def wheel(folder: Path, name: str) -> str:
    """Write an empty package's wheel of version 1.0 into a folder; its hash."""
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}"
        for path, text in members.items()
    ]
    members[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,\n"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def install(project_root, tmp_path):
    """`make install` in a folder of its own with a lock of two packages, found in a folder and nowhere else."""
    shutil.copy(project_root / "Makefile", tmp_path)
    shutil.copy(project_root / "torch.lock", tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'nothing'\nversion = '1'\n")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    hashes = {name: wheel(wheels, name) for name in ("setuptools", "ordinary")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE", "MFLAGS"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels.as_uri()}

    def run(**changed: str) -> subprocess.CompletedProcess[str]:
        lines = [f"{name}==1.0 \\\n    --hash=sha256:{one}\n" for name, one in (hashes | changed).items()]
        (tmp_path / "requirements.lock").write_text("".join(lines))
        command = ["make", "install", f"PYTHON={sys.executable}"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    return run


@pytest.mark.parametrize("name", ["ordinary", pytest.param("setuptools", marks=pytest.mark.slow)])
def test_a_changed_hash_stops_the_installation_and_says_so(install, tmp_path, name):
    given = install(**{name: "0" * 64})
    assert given.returncode == 2
    assert "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE" in given.stderr
    assert f"{name}==1.0" in given.stderr
    assert "Expected sha256 " + "0" * 64 in given.stderr
    assert not (tmp_path / ".venv/.installed").exists()


@pytest.mark.slow
def test_with_right_hashes_it_goes_on_to_torch(install, torch_lock):
    given = install()
    assert given.returncode == 2
    assert f"No matching distribution found for {torch_lock['torch']}" in given.stderr
    assert "HASHES" not in given.stderr
