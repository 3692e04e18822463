"""A copy of this project, with the systems of tests/toys/params.yaml, in which a test runs DVC itself."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
SYSTEMS = ("toy-bpe-transformer_postnorm-toy-1", "toy-bpe-transformer_prenorm-toy-1")
SECONDS = 1200  # no command takes as long, on the busiest machine


class Project(NamedTuple):
    """A copy of this project that a test may run and edit."""

    root: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        return subprocess.run(
            command, cwd=self.root, env=environment(), capture_output=True, text=True, timeout=SECONDS
        )

    def dvc(self, *arguments: str) -> str:
        """The output of a dvc command, which ends well."""
        done = self.run(sys.executable, "-m", "dvc", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def nmt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `nmt`."""
        return self.run(sys.executable, "-m", "pipeline.commands.nmt", *arguments)

    def git(self, *arguments: str) -> str:
        """The output of a git command."""
        done = self.run("git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def repro(self, *arguments: str) -> list[str]:
        """The stages that `dvc repro` runs."""
        return stages_run(self.dvc("repro", *arguments))

    def lock(self) -> dict:
        """Checksums of all that every stage read and wrote."""
        return YAML(typ="safe").load(self.root / "dvc.lock")["stages"]

    def edit(self, name: str, value: object) -> object:
        """Set the value at a dotted name of params.yaml or at `<file>:<name>`, or append a line to Python code.

        The value before; None for what is new.
        """
        path = self.path(name)
        if name.endswith(".py"):
            path.write_text(path.read_text(encoding="utf-8") + str(value), encoding="utf-8")
            return None
        content = node = YAML(typ="safe").load(path)
        *above, last = name.rpartition(":")[2].split(".")
        for key in above:
            node = node[key]
        replaced = node.get(last)
        assert replaced != value
        node[last] = value
        YAML(typ="safe").dump(content, path)
        return replaced

    def path(self, name: str) -> Path:
        """The file that an edit changes."""
        return self.root / (name if name.endswith(".py") else name.rpartition(":")[0] or "params.yaml")

    @contextmanager
    def edited(self, name: str, value: object) -> Iterator[object]:
        """The project with an edit, which is taken back; the value before it."""
        path = self.path(name)
        before = path.read_bytes()
        replaced = self.edit(name, value)
        try:
            yield replaced
        finally:
            path.write_bytes(before)

    def copy(self, root: Path) -> "Project":
        """A copy of it, with all that is built, to spoil."""
        shutil.copytree(self.root, root, symlinks=True)
        return Project(root)


def stages_run(printed: str) -> list[str]:
    """The stages that a dvc command says it runs."""
    return [line.split("'")[1] for line in printed.splitlines() if line.startswith("Running stage '")]


def environment() -> dict[str, str]:
    """Ours without git's variables, and no tracking server of the user's; stages note what they open."""
    names = [name for name in os.environ if name.startswith("GIT_CONFIG_") or not name.startswith(("GIT_", "MLFLOW_"))]
    kept = {name: os.environ[name] for name in names}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "PYTHONPATH": str(ROOT / "tests/toys/hooks"),
        "DVC_NO_ANALYTICS": "1",
    }


def create(root: Path) -> Project:
    """Copy this project as it is now, what git knows and what is new, with the toy's parameters and nothing built."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        own = name.startswith(("dvc.lock", "metrics/", "corpora/", "configs/", "params.yaml"))
        if not own and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name)
    lay_out(root)
    project = Project(root)
    project.git("init", "--quiet")
    return project


def lay_out(root: Path) -> None:
    """Write the toy's parameters into a folder."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "tests/toys/params.yaml", root / "params.yaml")
    for folder in ("corpora", "configs"):
        shutil.copytree(ROOT / "tests/toys" / folder, root / folder, dirs_exist_ok=True)
