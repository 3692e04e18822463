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

from tests.toys.tiny_project import ROOT

SECONDS = 1200  # no command of these takes as long, on the busiest machine


class Project(NamedTuple):
    """A copy of this project that a test may run and edit."""

    root: Path

    def dvc(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a dvc command in it."""
        return subprocess.run(
            self.command(*arguments), cwd=self.root, env=environment(), capture_output=True, text=True, timeout=SECONDS
        )

    def repro(self, *arguments: str) -> list[str]:
        """The stages that `dvc repro` runs."""
        said = self.dvc("repro", *arguments)
        assert said.returncode == 0, said.stdout + said.stderr
        return [line.split("'")[1] for line in said.stdout.splitlines() if line.startswith("Running stage '")]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "dvc", *arguments]

    def lock(self) -> dict:
        """What every stage read and wrote, by checksum."""
        return YAML(typ="safe").load(self.root / "dvc.lock")["stages"]

    def edit(self, name: str, value: object) -> None:
        """Set the value at a dotted name of params.yaml or at `<file>:<name>`, or append a line to Python code."""
        if name.endswith(".py"):
            with (self.root / name).open("a", encoding="utf-8") as file:
                file.write(str(value))
            return
        path = self.path(name)
        name = name.rpartition(":")[2]
        node = inner = YAML(typ="safe").load(path)
        *above, last = name.split(".")
        for key in above:
            inner = inner[key]
        assert inner.get(last) != value
        inner[last] = value
        YAML(typ="safe").dump(node, path)

    def path(self, name: str) -> Path:
        """The file that an edit changes."""
        return self.root / (name if name.endswith(".py") else name.rpartition(":")[0] or "params.yaml")

    @contextmanager
    def edited(self, name: str, value: object) -> Iterator[None]:
        """The project with an edit, which is taken back."""
        path = self.path(name)
        before = path.read_bytes()
        self.edit(name, value)
        try:
            yield
        finally:
            path.write_bytes(before)


def environment() -> dict[str, str]:
    """Ours without git's variables, and no tracking server of the user's; this interpreter comes first."""
    names = [name for name in os.environ if name.startswith("GIT_CONFIG_") or not name.startswith(("GIT_", "MLFLOW_"))]
    kept = {name: os.environ[name] for name in names}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}", "DVC_NO_ANALYTICS": "1"}


def copy(root: Path) -> Path:
    """Copy this project as it is now, what git knows and what is new, with the tiny params.yaml and nothing built."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    found = subprocess.run(listed, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    for name in filter(None, found.stdout.split("\0")):
        if not name.startswith(("dvc.lock", "metrics/", "corpora/", "configs/")) and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name)
    shutil.copyfile(ROOT / "tests/toys/params.yaml", root / "params.yaml")
    for folder in ("corpora", "configs"):
        shutil.copytree(ROOT / "tests/toys" / folder, root / folder)
    subprocess.run(["git", "init", "--quiet"], cwd=root, env=environment(), check=True)
    return root
