"""The outputs of earlier stages that the report shows: one object a corpus, one a system."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from pipeline import files
from pipeline.evaluation.analysis import Analysis
from pipeline.evaluation.attended import Attended
from pipeline.evaluation.seeds import Pair, p_values
from pipeline.evaluation.significance import Comparison
from pipeline.files import DataError

Rows = list[dict[str, str]]

AXES = ("vocabulary", "model", "size")  # what may tell the systems of a corpus apart


@dataclass(frozen=True)
class SystemResults:
    """One system: what it scored, how it was trained, what it translated."""

    corpus: str
    vocabulary: str
    model: str
    size: str
    scores: dict[str, dict[str, Any]]  # test part -> metric -> score, and the signatures
    by_length: Rows
    curves: Rows  # one row per validation
    train_loss: Rows  # about sixty rows, each the mean of a few updates
    training: dict[str, Any]
    average: dict[str, Any]
    translations: dict[str, list[str]]  # test part -> lines
    attended: list[Attended]  # sentences of the test parts
    more_scores: list[dict[str, dict[str, float]]] = field(default_factory=list)  # the same of each further seed
    seed: str = "1"

    @property
    def id(self) -> str:
        """The system's id."""
        return f"{self.corpus}-{self.name}-{self.seed}"

    @property
    def name(self) -> str:
        """The name of the system among those of its corpus."""
        return f"{self.vocabulary}-{self.model}-{self.size}"

    def of_seeds(self, part: str, metric: str) -> list[float]:
        """The score of each seed, that of `training` first."""
        return [float(scores[part][metric]) for scores in (self.scores, *self.more_scores)]

    def score(self, part: str, metric: str) -> float:
        """The score of the training with the seed of section `training`."""
        return float(self.scores[part][metric])

    def mean(self, part: str, metric: str) -> float:
        """The mean score of all seeds."""
        return fmean(self.of_seeds(part, metric))


@dataclass(frozen=True)
class EnsembleResults:
    """Two systems that translated together."""

    name: str
    members: list[str]  # ids of the systems
    scores: dict[str, dict[str, float]]  # test part -> metric -> score


@dataclass(frozen=True)
class CorpusResults:
    """One corpus: its counts, the texts of its test parts, and the systems that learnt from it."""

    name: str
    cleaning: dict[str, Any]
    splitting: dict[str, Any]
    tokens: dict[str, dict[str, dict[str, int]]]  # vocabulary -> part -> counts
    texts: dict[str, list[tuple[str, str]]]  # test part -> source and reference of each line
    systems: list[SystemResults]
    comparisons: dict[str, Comparison]  # test part -> every system against the best; none if BLEU was not measured
    words: dict[str, list[list[str]]]  # test part -> the words of each reference
    analyses: dict[str, dict[str, Analysis]]  # test part -> name of a system -> what was found in its translations
    ensembles: list[EnsembleResults] = field(default_factory=list)

    @property
    def test_parts(self) -> list[str]:
        """The parts that were scored."""
        return list(self.texts)

    def label(self, system: SystemResults) -> str:
        """What tells a system apart from the others of the corpus: its model, and whatever else differs."""
        varied = (len({getattr(other, axis) for other in self.systems}) > 1 for axis in AXES)
        named = [getattr(system, axis) for axis, varies in zip(AXES, varied, strict=True) if varies or axis == "model"]
        return "-".join(named)

    @property
    def num_seeds(self) -> int:
        """With how many seeds each system was trained."""
        return 1 + len(self.systems[0].more_scores)

    def p_of_seeds(self, part: str, metric: str) -> dict[Pair, float]:
        """For each two systems, by name, how often seeds alone make so large a difference; none if there is one."""
        if self.num_seeds == 1:
            return {}
        return p_values({system.name: system.of_seeds(part, metric) for system in self.systems})

    @property
    def pattern(self) -> str:
        """What the labels are short for: a system's id, with the parts in brackets that a label names."""
        first = self.systems[0]
        named = (len({getattr(other, axis) for other in self.systems}) > 1 or axis == "model" for axis in AXES)
        return "-".join(
            [self.name, *(f"<{axis}>" if n else getattr(first, axis) for axis, n in zip(AXES, named, strict=True))]
        )


def built(path: Path, stage: str) -> Path:
    """`path`, an output of `stage`, checked to exist.

    Raises: DataError with the command that builds it.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file; expected what `dvc repro {stage}` builds")
    return path


def read_rows(path: Path, numbers: Sequence[str], words: Sequence[str] = ()) -> Rows:
    """The rows of a CSV file that has columns of `numbers` and of `words`.

    Raises: DataError if it is missing, no CSV, lacks a column, or has something else for a number.
    """
    rows = files.read_table(path)
    if missing := [name for name in (*numbers, *words) if name not in rows[0]]:
        raise DataError(f"{path}: has no column {missing[0]}, got {', '.join(rows[0])}; expected what the stage writes")
    for number, row in enumerate(rows, 1):
        if wrong := [name for name in numbers if not is_finite(row[name])]:
            got = f"row {number}, column {wrong[0]}: not a number, got {row[wrong[0]][:60]!r}"
            raise DataError(f"{path}: {got}; expected what the stage writes")
    return rows


def is_finite(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
