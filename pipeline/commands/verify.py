"""`nmt verify`: whether the systems of a build score as they did where they were measured."""

import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ..common import files
from ..common.system import Build, System
from ..console import tables
from ..evaluation.significance import ALPHA, tolerance
from . import project

EXPECTED = Path("benchmarks/expected.json")
PASSES, WORSE, BETTER, UNKNOWN = "passes", "worse", "suspiciously better", "no expectation"


def verify() -> None:
    """Compare the scores of a finished build with those of benchmarks/expected.json, measured with several seeds.

    Each measure of a system passes within an interval in which all of them lie in 95 builds of 100, by chance of seed
    and processor. Beyond it a system is worse, or suspiciously better, as when its test part has leaked into its
    training. The exit status is 0 if all systems of `build` that have expectations are built and pass.
    """
    project.check_here()
    expected, systems = files.read_json(EXPECTED), Build.load("build").systems()
    finished: dict[str, list[System]] = {key(system): [] for system in systems}
    for system in systems:
        if system.metrics.exists() and (system.scored / "scores.json").exists():
            finished[key(system)].append(system)
    if not any(finished.values()):
        raise files.DataError("nmt verify: no system of `build` is finished; expected some that `nmt repro` has built")
    known = {name: entry for name, entry in expected.items() if name in finished}
    if not any(finished[name] for name in known):
        raise files.DataError(f"{EXPECTED}: has none of the finished systems; expected some of {', '.join(expected)}")
    alpha = ALPHA / sum(len(list(measures(entry))) for entry in known.values())
    rows = [row for name, seeds in finished.items() for row in compared(name, known.get(name), seeds, alpha)]
    table = tables.titled("system", "part", "measure", "expected (trainings)", "got", "verdict")
    for row in rows:
        table.add_row(*row)
    tables.show(table)
    for name in filter(finished.get, known):
        print(*signature_faults(name, known[name], finished[name][0]), sep="", end="")
    raise typer.Exit(any(verdict not in (PASSES, UNKNOWN) for *_, verdict in rows))


def key(system: System) -> str:
    """Its id without the seed."""
    return system.id.rpartition("-")[0]


def measures(entry: dict[str, Any]) -> Iterator[tuple[str, str, list[float]]]:
    """Part, measure and the score of each training, of all that is expected of a system."""
    runs = [run["scores"] for run in entry["runs"]]
    for part, scores in runs[0].items():
        for measure in scores:
            yield part, measure, [run[part][measure] for run in runs]


def compared(name: str, entry: dict[str, Any] | None, seeds: list[System], alpha: float) -> Iterator[list[str]]:
    """The cells of every measure of a system, means of its seeds, tested at the level `alpha` each."""
    if entry is None or not seeds:
        yield [name, "", "", "", "", "not built" if entry else UNKNOWN]
        return
    metrics = [files.read_json(system.metrics) for system in seeds]
    for part, measure, scores in measures(entry):
        mean, margin = statistics.fmean(scores), tolerance(measure, scores, len(seeds), alpha)
        got = statistics.fmean(values.get(part, {}).get(measure, math.nan) for values in metrics)
        gain = mean - got if measure in ("loss", "ter") else got - mean
        verdict = PASSES if abs(gain) <= margin else BETTER if gain > 0 else WORSE
        digits = 3 if measure == "loss" else 2
        interval = f"{mean:.{digits}f} ± {margin:.{digits}f} ({len(scores)})"
        yield [name, part, measure, interval, f"{got:.{digits}f}", verdict]
        name = ""  # once a system


def signature_faults(name: str, entry: dict[str, Any], system: System) -> Iterator[str]:
    """A line about each score that sacreBLEU computed in another way."""
    for part, metrics in files.read_json(system.scored / "scores.json").items():
        for measure, known in entry["signatures"].items():
            if measure in metrics and (got := metrics[measure]["signature"]) != known:
                yield f"{name}, {part} {measure}: scored in another way, got {got}; expected {known}\n"
