"""Add the scores of a finished build to benchmarks/expected.json, with which `nmt verify` compares other builds.

    python -m benchmarks.expect
    python -m benchmarks.expect --processor "AMD EPYC (Zen 4), AVX2 alone"

In the folder of a build, up to date and made by committed files: the systems that `build` chooses, one entry for each
seed and processor, in place of an earlier one.
"""

import subprocess
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.contestants.machine import processor
from pipeline.commands import verify
from pipeline.commands.repro import changed_stages
from pipeline.common import files
from pipeline.common.params import read_yaml
from pipeline.common.system import Build, System
from pipeline.evaluation.settings import TITLES
from pipeline.tracking.runs import Run

MEASURES = ("loss", *TITLES)  # those that other programs computed are left out, and counts


def main(
    name: Annotated[str, typer.Option("--processor", help="On which the systems were trained.")] = "",
) -> None:
    """Write benchmarks/expected.json."""
    check_is_clean()
    conditions = {"processor": name or processor(), "commit": git("rev-parse", "--short", "HEAD").strip()}
    expected = files.read_json(verify.EXPECTED) if verify.EXPECTED.exists() else {}
    for system in Build.load("build").systems():
        entry = expected.setdefault(verify.key(system), {"signatures": {}, "runs": []})
        run = {"seed": system.seed, **conditions, **trained(system), "scores": scores(system)}
        others = [old for old in entry["runs"] if place(old) != place(run)]
        entry["runs"] = sorted([*others, run], key=place)
        entry["signatures"] = signatures(system)
    files.write_json(verify.EXPECTED, dict(sorted(expected.items())))


def check_is_clean() -> None:
    """Check that the build is that of the last commit, but for what `build` chooses.

    Raises: DataError.
    """
    if changed := changed_stages():
        raise files.DataError(f"build: {len(changed)} stages are out of date; expected none: run `nmt repro`")
    edited = git("status", "--porcelain", "--untracked-files=no", "pipeline", "stages", "configs", "corpora", "my")
    committed = Path("work/params.yaml")
    files.write_lines(committed, git("show", "HEAD:params.yaml").splitlines())
    pages = [read_yaml(path) | {"build": {}} for path in (committed, Path("params.yaml"))]
    if edited or pages[0] != pages[1]:
        raise files.DataError(f"git: has uncommitted edits of parameters or code, got {edited.split()}; expected none")


def git(*arguments: str) -> str:
    """The output of git."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def place(run: dict[str, Any]) -> tuple[int, str]:
    """What tells a training from the others of a system."""
    return run["seed"], run["processor"]


def trained(system: System) -> dict[str, Any]:
    """When a system was trained, and for how many minutes, as MLflow recorded them."""
    info = Run(system).find_training().info
    minutes = round((info.end_time - info.start_time) / 60_000, 1)
    return {"date": time.strftime("%Y-%m-%d", time.gmtime(info.end_time / 1000)), "minutes": minutes}


def scores(system: System) -> dict[str, dict[str, float]]:
    """Validation loss, and the scores on every test part."""
    metrics = files.read_json(system.metrics)
    return {part: {name: values[name] for name in MEASURES if name in values} for part, values in metrics.items()}


def signatures(system: System) -> dict[str, str]:
    """How sacreBLEU computed each score, on every part alike."""
    parts = files.read_json(system.scored / "scores.json").values()
    return {name: metrics[name]["signature"] for metrics in parts for name in metrics if name in TITLES}


if __name__ == "__main__":
    typer.run(main)
