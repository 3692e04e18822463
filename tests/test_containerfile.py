"""The steps of Containerfile make a system that serves: run in a chroot of Debian's packages, not in a container.

It takes minutes, root and a network of its own: Debian's mirror and the package index. Without any of them it skips.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
import requests

from tests.toys import packages, servers

ROOT = Path(__file__).parents[1]
FILE = ROOT / "Containerfile"
MIRROR = "http://deb.debian.org/debian"
PORT = 5050
FIXED = [word for word in os.environ if word.startswith("PIP_") or word.lower() in ("http_proxy", "https_proxy")]


def instructions() -> list[tuple[str, str]]:
    """Each instruction of Containerfile and what follows it, on one line."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines()) if name]


def only(name: str) -> str:
    """What follows the one instruction of this name."""
    [rest] = [rest for one, rest in instructions() if one == name]
    return rest


def test_it_runs_as_a_user_without_rights():
    assert only("USER") == "nmt"
    assert "nologin" in next(rest for name, rest in instructions() if name == "RUN" and "useradd" in rest)
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(index for index, name in enumerate(names) if name in ("RUN", "COPY"))
    assert json.loads(only("ENTRYPOINT"))[1:] == ["serve", "--host", "0.0.0.0", "--port", str(PORT)]
    assert only("VOLUME") == "/models"


class Chroot:
    """A root of Debian's packages, in which the instructions are run."""

    def __init__(self, root: Path) -> None:
        self.root, self.variables, self.user = root, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, "root"

    def command(self, words: list[str], mounts: dict[Path, Path]) -> list[str]:
        """A command in the chroot, with /proc and some paths of this machine, read-only, for itself alone."""
        steps = [f"mount -t proc proc {self.root}/proc"]
        for here, there in mounts.items():
            steps += [f"mount --bind {here} {there}", f"mount -o remount,ro,bind {there}"]
        steps.append(f'exec chroot --userspec={self.user} {self.root} "$@"')
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        return ["unshare", "--mount", "sh", "-c", " && ".join(steps), "sh", "env", "-i", *variables, *words]

    def run(self, command: str) -> None:
        """What RUN does."""
        passed = {name: os.environ[name] for name in FIXED}
        before, self.variables = self.variables, passed | self.variables
        done = subprocess.run(self.command(["/bin/sh", "-c", command], self.mounts()), capture_output=True, text=True)
        self.variables = before
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"

    def mounts(self) -> dict[Path, Path]:
        """The files and folders that this machine's pip is told to use: they are not in the image."""
        found = {}
        for name in FIXED:
            here = Path(os.environ[name])
            there = self.root / here.relative_to("/") if here.is_absolute() else None
            if there is not None and here.exists():
                if here.is_dir():
                    there.mkdir(parents=True, exist_ok=True)
                if there.exists():
                    found[here] = there
        return found


@pytest.fixture
def wheel(tmp_path) -> Path:
    """The wheel of this project, built from a copy."""
    copy = tmp_path / "copy"
    for name in ("pipeline", "stages"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, copy]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    [found] = tmp_path.glob("*.whl")
    return found


def debian(root: Path) -> Chroot:
    """The image that FROM names, as mmdebstrap makes it."""
    command = ["mmdebstrap", "--variant=minbase", suite(), str(root), MIRROR]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return Chroot(root)


def suite() -> str:
    """Debian's name of the image."""
    return re.fullmatch(r"debian:(\w+)-slim", only("FROM"))[1]


def reachable(url: str) -> bool:
    """Whether a server answers; asked by a process of its own, since tests have no network."""
    code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10)"
    return subprocess.run([sys.executable, "-c", code, url], capture_output=True).returncode == 0


@contextmanager
def serving(image: Chroot, models: Path, log: Path) -> Iterator[servers.Server]:
    """The server that ENTRYPOINT starts as its user, with models mounted read-only."""
    (image.root / "models").mkdir()
    image.user = only("USER")
    words = [*json.loads(only("ENTRYPOINT")), "--public", "--threads", "1"]
    with servers.running(image.command(words, {models: image.root / "models"}), log) as server:
        yield server


@pytest.mark.slow
def test_its_steps_make_a_server(tmp_path, wheel):
    if os.getuid() or not all(map(shutil.which, ("mmdebstrap", "unshare", "chroot"))):
        pytest.skip("needs root, mmdebstrap, unshare and chroot")
    if not reachable(f"{MIRROR}/dists/{suite()}/Release") or not reachable("https://pypi.org/simple/pip/"):
        pytest.skip("needs Debian's mirror and the package index")
    image = debian(tmp_path / "root")
    for name, rest in instructions():
        if name == "RUN":
            image.run(rest)
        elif name == "ARG":
            key, _, value = rest.partition("=")
            image.variables[key] = value if reachable(value) else ""  # then pip's own configuration has to do
        elif name == "ENV":
            image.variables |= dict(word.split("=") for word in rest.split())
        elif name == "COPY":
            source, target = rest.split()
            assert source == "work/wheel/*.whl"
            (image.root / target.strip("/")).mkdir(parents=True)
            shutil.copy(wheel, image.root / target.strip("/"))
    with chdir(tmp_path):
        packages.build(tmp_path)
    with serving(image, tmp_path / "models", tmp_path / "log") as server:
        address = f"http://127.0.0.1:{PORT}"
        said = requests.post(f"{address}/translate", json={"q": "le chat", "source": "fr", "target": "en"}, timeout=60)
        assert said.status_code == 200, said.text
        assert "<html" in requests.get(address, timeout=9).text
        health = json.loads(only("HEALTHCHECK").partition("CMD ")[2])
        assert subprocess.run(image.command(health, {})).returncode == 0
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        assert re.search(r"^Uid:\s+10001\s", status, re.MULTILINE)
