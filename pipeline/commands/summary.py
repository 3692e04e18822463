"""The table at the end of `nmt repro`: the scores of each system, best first, and what to do next."""

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..common import files
from ..common.system import AXES, Build, System
from ..evaluation.scores import caveats
from ..evaluation.settings import TITLES
from . import project

REPORT = Path("report/index.html")
TIMES = Path("work/train_seconds.json")  # of trainings that `nmt repro` ran, until they were done or stopped
SENTENCE = 50  # characters of the longest sentence that is proposed for translation


def read_times() -> dict[str, dict[str, float]]:
    """Seconds of each system's training: of a finished one under `trained`, of one to be resumed under `stopped`."""
    return files.read_json(TIMES) if TIMES.exists() else {"trained": {}, "stopped": {}}


def label(build: Build, item: str) -> str:
    """An item's name among those of a build: its model and size, and what else `build` has several of."""
    names = item.split("-")
    kept = [
        n for n, axis in zip(names, AXES, strict=False) if axis in ("models", "sizes") or len(getattr(build, axis)) > 1
    ]
    return "-".join(kept) or names[-1]


def lines(build: Build) -> Iterator[str]:
    """The tables, where the report is, and commands to go on with."""
    best: System | None = None
    for corpus in build.corpora:
        scored = {system: scores for system in build.systems() if (scores := read_scores(system, corpus))}
        if not scored:
            continue
        systems = sorted(scored, key=lambda system: rank(scored[system]))
        best = best or systems[0]
        yield ""
        yield from table(build, corpus, {system: scored[system] for system in systems})
        yield from dict.fromkeys(caveat for one in systems for caveat in caveats(files.read_json(one.metrics)))
    yield ""
    if REPORT.exists():
        yield f"report     {REPORT}"
    if best:
        yield f"translate  nmt translate --system {project.shortest(best.id, project.built())} {sentence(best)}"
    yield "all runs   make ui"


def read_scores(system: System, corpus: str) -> dict[str, float]:
    """The scores of a system of a corpus on the part `test`, else on its first test part; {} if it has none."""
    path = system.scored / "scores.json"
    if system.corpus != corpus or not path.exists():
        return {}
    tests: dict[str, Any] = files.read_json(path)
    return {metric: detail["score"] for metric, detail in tests.get("test", tests[min(tests)]).items()}


def rank(scores: dict[str, float]) -> float:
    """The first metric, so that the best comes first."""
    metric, value = next(iter(scores.items()))
    return value if metric == "ter" else -value


def table(build: Build, corpus: str, scored: dict[System, dict[str, float]]) -> Iterator[str]:
    """The lines of a table: names to the left, numbers to the right."""
    times = read_times()["trained"]
    metrics = list(next(iter(scored.values())))
    rows = [[corpus, *(TITLES.get(metric, metric) for metric in metrics), "minutes"]]
    for system, scores in scored.items():
        minutes = f"{times[system.id] / 60:.1f}" if system.id in times else "-"
        rows.append([label(build, system.id), *(f"{scores[metric]:.2f}" for metric in metrics), minutes])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = (f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join([f"{name:{widths[0]}}", *cells])


def sentence(system: System) -> str:
    """A short sentence of the test part, as a shell takes it."""
    with contextlib.suppress(OSError, files.DataError):
        for line in files.read_lines(system.split / "test.source.txt"):
            if 0 < len(line) <= SENTENCE and line.isprintable() and not line.startswith("-"):
                return shlex.quote(line)
    return "<sentence>"
