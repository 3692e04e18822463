"""What `nmt repro` says of what was built: a few words for each stage, and the table at the end."""

import contextlib
import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pipeline import files
from pipeline.commands import project
from pipeline.commands.naming import shortest
from pipeline.corpora import parts
from pipeline.ensembles import metrics_file
from pipeline.files import DataError
from pipeline.fingerprint import training_log
from pipeline.system import AXES, SEED, Build, System
from pipeline.terminal import printable

REPORT = Path("report/index.html")
METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
BUILDER = "NMT_BUILDER"  # an environment variable: the command that runs this one in a folder of its own
NONE = "-"  # no value
SENTENCE = 50  # characters of the longest sentence that is proposed for translation


def of(stage: str) -> str:
    """What a finished stage brought, read from its outputs; nothing if there is nothing to say."""
    kind, _, item = stage.partition("@")
    name = kind.removesuffix(SEED)
    with contextlib.suppress(DataError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return BROUGHT[name](item) if name in BROUGHT else ""
    return ""


def downloaded(corpus: str) -> str:
    """Pairs of all parts."""
    found = files.read_json(Path("data/download", corpus, "download.json"))["parts"]
    return f"{sum(part['pairs'] for part in found.values()):,} pairs"


def cleaned(corpus: str) -> str:
    """Pairs kept."""
    found = files.read_json(Path("data/clean", corpus, "clean.json"))
    return f"{found['kept']:,} of {found['read']:,} pairs kept"


def split(corpus: str) -> str:
    """Pairs for training, for validation, and of all test parts."""
    found = files.read_json(Path("data/split", f"{corpus}.json"))["pairs"]
    tests = sum(number for part, number in found.items() if parts.is_test(part))
    return f"{found[parts.TRAIN]:,} train, {found[parts.VALIDATION]:,} validation, {tests:,} test"


def vocabulary(item: str) -> str:
    """Sizes of both sides."""
    found = files.read_json(Path("data/vocabulary", item, "vocabulary.json"))
    sizes = dict.fromkeys((found["source_size"], found["target_size"]))
    return f"{' and '.join(f'{size:,}' for size in sizes)} entries"


def encoded(item: str) -> str:
    """Tokens of all parts."""
    found = files.read_json(Path("data/encode", item, "encode.json"))
    return f"{sum(part['target_tokens'] for part in found.values()):,} target tokens"


def trained(item: str) -> str:
    """The best validation, and the speed if the local log has it."""
    system = System.parse(item)
    best = files.read_json(system.training_summary)["best"]
    words = [f"loss {best['validation_loss']:.2f}"]
    if "validation_bleu" in best:
        words.append(f"BLEU {best['validation_bleu']:.1f}")
    if found := updates(system):
        words.append(f"{sum(row['tokens'] for row in found) / seconds(found):,.0f} tokens/s")
    return ", ".join(words)


def averaged(item: str) -> str:
    """Checkpoints of which the weights are the mean."""
    return f"{len(files.read_json(System.parse(item).averaged / 'average.json')['checkpoints'])} checkpoints"


def decoded(item: str) -> str:
    """Sentences translated."""
    return f"{sum(files.count_lines(path) for path in System.parse(item).decoded.glob('*.txt')):,} sentences"


def scored(item: str) -> str:
    """The scores of the first test part."""
    return scores_in(System.parse(item).metrics)


def scored_together(name: str) -> str:
    """The same of an ensemble."""
    return scores_in(metrics_file(name))


def scores_in(path: Path) -> str:
    """The scores of the first test part in a file of `metrics/`."""
    scores = first_part(files.read_json(path))
    return ", ".join(f"{title} {scores[metric]:.1f}" for metric, title in METRICS.items() if metric in scores)


def reported(_: str) -> str:
    """The page."""
    return str(REPORT)


BROUGHT: dict[str, Callable[[str], str]] = {
    "download": downloaded,
    "clean": cleaned,
    "split": split,
    "vocabulary": vocabulary,
    "encode": encoded,
    "train": trained,
    "average": averaged,
    "decode": decoded,
    "score": scored,
    "ensemble": scored_together,
    "report": reported,
}


def first_part(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    """The scores of the part `test`, else of the first test part."""
    return scores[parts.TEST] if parts.TEST in scores else scores[min(filter(parts.is_test, scores))]


def updates(system: System) -> list[dict[str, Any]]:
    """The updates of a training, over all its resumptions, from the local log: the outputs hold no times.

    Empty if there is no log of this very training, as after `dvc checkout` of one that another machine trained.
    """
    try:
        log = training_log(system.id, files.read_json(system.training_summary)["fingerprint"])
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        return [row for row in rows if row.get("tokens_per_second")]
    except (DataError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def seconds(found: list[dict[str, Any]]) -> float:
    """How long updates took; validations and checkpoints are not in it."""
    return sum(row["tokens"] / row["tokens_per_second"] for row in found)


def label(build: Build, item: str) -> str:
    """An item's name among those of a build: without the corpus and the vocabulary if the build has one of them."""
    names = item.split("-")
    single = [section for section in ("corpora", "vocabularies") if len(getattr(build, section)) == 1]
    kept = [name for name, section in zip(names, AXES, strict=False) if section not in single]
    return "-".join([*kept, *names[len(AXES) :]]) or names[-1]


def summary(build: Build) -> Iterator[str]:
    """The systems of each corpus, best first, where the report is, and what to do next.

    Where another command builds (`BUILDER`), only the systems.
    """
    found = {corpus: list(rows(build, corpus)) for corpus in build.corpora}
    for corpus, systems in found.items():
        if systems:
            yield ""
            yield from table(corpus, systems)
    if BUILDER in os.environ:
        return
    best = next((system for systems in found.values() for system, _ in systems if not system.seed), None)
    yield ""
    if REPORT.exists():
        yield f"report     {REPORT}"
    if best:
        yield f"translate  nmt translate --system {shortest(best.id, project.built())} {sentence(best)}"
    yield "all runs   make ui"


def rows(build: Build, corpus: str) -> list[tuple[System, list[str]]]:
    """The scored systems of a corpus and their cells, the best by the first metric first."""
    found = []
    for system in build.all_systems():
        if system.corpus != corpus:
            continue
        try:
            scores = first_part(files.read_json(system.metrics))
            number = files.read_json(system.training_summary)["num_parameters"]
        except (DataError, ValueError, KeyError, TypeError):
            continue
        values = {metric: scores[metric] for metric in METRICS if metric in scores}
        minutes = f"{taken / 60:.1f}" if (taken := seconds(updates(system))) else NONE
        cells = [label(build, system.id), *(f"{value:.2f}" for value in values.values()), minutes, f"{number:,}"]
        first = next(iter(values.items()), ("", 0.0))
        found.append((first[1] if first[0] == "ter" else -first[1], (system, cells)))
    return [row for _, row in sorted(found, key=lambda ranked: ranked[0])]


def table(corpus: str, systems: list[tuple[System, list[str]]]) -> Iterator[str]:
    """The lines of a table: names to the left, numbers to the right."""
    scores = files.read_json(systems[0][0].metrics)
    titles = [METRICS[metric] for metric in METRICS if metric in first_part(scores)]
    lines = [[corpus, *titles, "minutes", "parameters"], *(cells for _, cells in systems)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *numbers in lines:
        yield f"{name:{widths[0]}}  {'  '.join(f'{cell:>{w}}' for cell, w in zip(numbers, widths[1:], strict=True))}"


def sentence(system: System) -> str:
    """A short sentence of a test part, as a shell takes it."""
    with contextlib.suppress(OSError, DataError, ValueError):
        for path in sorted(system.split.glob(f"{parts.TEST}.source.txt")):
            for line in files.read_lines(path):
                if 0 < len(line) <= SENTENCE and printable(line) == line and not line.startswith("-"):  # no option
                    return shlex.quote(line)
    return "<sentence>"
