"""The tiny project of tests/toys/params.yaml, built by its stages without DVC: commands, what they read and write."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
AXES = {"corpus": "toy", "vocabulary": "bpe", "model": "transformer_prenorm", "size": "toy", "seed": "1"}
SYSTEM = "-".join(AXES.values())


class Stage(NamedTuple):
    """One stage of the project's system."""

    name: str
    axes: list[str]
    inputs: list[str]  # paths below data/, runs/ and metrics/
    outs: list[str]

    @property
    def command(self) -> list[str]:
        """As in dvc.yaml, by this interpreter."""
        return [sys.executable, "-m", f"stages.{self.name}", *self.axes]


class Built(NamedTuple):
    """The project after some of its stages, how long each took, and what it left."""

    root: Path
    seconds: dict[str, float]
    outs: dict[str, dict[str, bytes]]


def stages() -> dict[str, Stage]:
    """The stages of dvc.yaml in their order, for one system with one seed, whose corpus has no teacher."""
    written = YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"]
    return {name: stage(name, about) for name, about in written.items()}


def stage(name: str, about: dict[str, Any]) -> Stage:
    """A stage whose matrix items are filled in."""
    outs = [path for kind in ("outs", "metrics", "plots") for path in paths(about.get(kind, []))]
    inputs = [path for path in paths(about["deps"]) if path.startswith(("data", "runs", "metrics"))]
    axes = [AXES[axis] for axis in about.get("matrix", ())]
    return Stage(name, ["-".join(axes)] if axes else [], inputs, outs)


def paths(entries: list[Any]) -> list[str]:
    """The paths of deps or outs, some of which have settings."""
    found = [next(iter(entry)) if isinstance(entry, dict) else entry for entry in entries]
    for axis, value in {"key": SYSTEM, **{f"item.{axis}": value for axis, value in AXES.items()}}.items():
        found = [path.replace(f"${{{axis}}}", value) for path in found]
    return found


def lay_out(root: Path) -> None:
    """Write params.yaml, with one system to build, and its corpus."""
    yaml = YAML(typ="safe")
    params = yaml.load(ROOT / "tests/toys/params.yaml")
    params["build"]["models"] = [AXES["model"]]
    yaml.dump(params, root / "params.yaml")
    for folder in ("corpora", "configs"):
        shutil.copytree(ROOT / "tests/toys" / folder, root / folder, dirs_exist_ok=True)


def environment() -> dict[str, str]:
    """This project's code, one thread, nothing that can be tracked."""
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "CUDA_VISIBLE_DEVICES": "",
        "MLFLOW_TRACKING_URI": "sqlite:////dev/null/mlflow.db",
        "OMP_NUM_THREADS": "1",
    }


def run(one: Stage, root: Path) -> None:
    """Run a stage to its end, which is to be a good one."""
    said = subprocess.run(one.command, cwd=root, env=environment(), capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


def build(root: Path, chosen: Iterable[Stage]) -> Built:
    """Run some stages of the project in an empty folder."""
    lay_out(root)
    seconds, outs = {}, {}
    for one in chosen:
        began = time.monotonic()
        run(one, root)
        seconds[one.name] = time.monotonic() - began
        outs[one.name] = contents(root, one.outs)
    return Built(root, seconds, outs)


def contents(root: Path, names: list[str]) -> dict[str, bytes]:
    """Every file below the paths, hidden ones too."""
    found = {}
    for name in names:
        path = root / name
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file():
                found[file.relative_to(root).as_posix()] = file.read_bytes()
    return found


def remove(root: Path, names: list[str]) -> None:
    """Remove outs, as DVC does before it runs a stage."""
    for name in names:
        if (root / name).is_dir():
            shutil.rmtree(root / name)
        else:
            (root / name).unlink(missing_ok=True)
