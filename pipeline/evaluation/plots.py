"""What DVC shows: one table for each chart of `dvc plots show`, with every system of every corpus, and the metrics.

A table is a file and an output of its own: in a clone without data, DVC cannot look into a folder.

`dvc exp show` has a column for each metric, named by its keys alone if only one file is declared as metrics. So these
are few, and short; metrics/<system>.json has all scores of a system.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline import files
from pipeline.evaluation.bleu import DIGITS
from pipeline.evaluation.results import CorpusResults, Rows
from pipeline.evaluation.seeds import spread


def write(folder: Path, corpora: list[CorpusResults]) -> None:
    """Write `folder`/learning_curves.csv, train_loss.csv and scores_by_length.csv."""
    for table in learning_curves, train_loss, scores_by_length:
        rows = [{"corpus": corpus.name, **row} for corpus in corpora for row in table(corpus)]
        files.write_table(folder / f"{table.__name__}.csv", rows)


def learning_curves(corpus: CorpusResults) -> Rows:
    """The validation loss of each system at each of its validations."""
    return [
        {"system": system.name, "update": row["update"], "validation_loss": row["validation_loss"]}
        for system in corpus.systems
        for row in system.curves
    ]


def train_loss(corpus: CorpusResults) -> Rows:
    """The training loss of each system over its updates, each row the mean of a few."""
    columns = "update", "train_loss"
    return [
        {"system": system.name, **{column: row[column] for column in columns}}
        for system in corpus.systems
        for row in system.train_loss
    ]


def scores_by_length(corpus: CorpusResults) -> Rows:
    """The scores of each system on each bucket of source lengths of each test part, the shortest first."""
    columns = "bucket", "sentences", "bleu", "chrf"
    return [
        {"part": part, "system": system.name, **{column: row[column] for column in columns}}
        for part in corpus.test_parts
        for system in corpus.systems
        for row in system.by_length
        if row["part"] == part
    ]


def metrics(corpora: list[CorpusResults]) -> dict[str, dict[str, float]]:
    """Validation loss, and the first score on the first test part, of each system by its short name.

    With several seeds, also the mean and the standard deviation of that score. An ensemble has that score alone.
    The name leaves out the corpus and the vocabulary if all systems have the same.
    """
    systems = [system for corpus in corpora for system in corpus.systems]
    choices = [{system.corpus for system in systems}, {system.vocabulary for system in systems}]
    found = {}
    for system in systems:
        differ = [name for name, chosen in zip(system.id.split("-"), choices, strict=False) if len(chosen) > 1]
        metric, score = first_score(system.scores)
        name = "-".join([*differ, system.model, system.size])
        found[name] = {"loss": system.training["best"]["validation_loss"], metric: score}
        if system.more_scores:
            mean, deviation = spread(system.of_seeds(next(iter(system.scores)), metric))
            found[name] |= {f"{metric}_mean": round(mean, DIGITS), f"{metric}_deviation": round(deviation, DIGITS)}
    for ensemble in (one for corpus in corpora for one in corpus.ensembles):
        metric, score = first_score(ensemble.scores)
        found[ensemble.name] = {metric: score}
    return found


def first_score(scores: Mapping[str, Mapping[str, Any]]) -> tuple[str, float]:
    """The first metric, and its score on the first test part."""
    return next(iter(next(iter(scores.values())).items()))
