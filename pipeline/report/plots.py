"""Tables for the charts of `dvc plots show`, and the columns of `dvc exp show`.

`dvc exp show` has a column for each metric, named by its keys alone if only one file is declared as metrics. So these
are few, and short; metrics/<system>.json has all scores of a system.
"""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..common import files
from ..evaluation.bleu import DIGITS
from .results import CorpusResults

TABLES = {  # name of the file -> attribute of a system, columns
    "learning_curves": ("curves", ("update", "validation_loss")),
    "train_loss": ("train_loss", ("update", "train_loss")),
    "scores_by_length": ("by_length", ("part", "bucket", "sentences", "bleu", "chrf")),
}


def write(folder: Path, corpora: Sequence[CorpusResults]) -> None:
    """Write learning_curves.csv, train_loss.csv and scores_by_length.csv, with every system of every corpus."""
    systems = [(corpus.name, system) for corpus in corpora for system in corpus.systems]
    for name, (table, columns) in TABLES.items():
        rows = [
            {"corpus": corpus, "system": system.name} | {column: row[column] for column in columns}
            for corpus, system in systems
            for row in getattr(system, table)
        ]
        files.write_table(folder / f"{name}.csv", rows)


def metrics(corpora: Iterable[CorpusResults]) -> dict[str, dict[str, float]]:
    """Validation loss, and the first score on the first test part, of each system by its short name.

    With several seeds, the mean score and the standard deviation. The name leaves out corpus and vocabulary if all
    systems have the same.
    """
    systems = [(corpus, one) for corpus in corpora for one in corpus.systems]
    varied = [axis for axis in ("corpus", "vocabulary") if len({getattr(one.system, axis) for _, one in systems}) > 1]
    named = {}
    for corpus, one in systems:
        metric, loss = corpus.metrics[0], one.training["best"]["validation_loss"]
        scores = one.of_seeds(next(iter(corpus.parts)), metric)
        name = "-".join(getattr(one.system, axis) for axis in (*varied, "model", "size"))
        named[name] = {"loss": loss, metric: round(statistics.fmean(scores), DIGITS)}
        if len(scores) > 1:
            named[name][f"{metric}_deviation"] = round(statistics.stdev(scores), DIGITS)
    return named
