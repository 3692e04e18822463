"""What `dvc plots show` draws: one table for each chart, in which every system of a corpus has its lines."""

from pathlib import Path

from pipeline import files
from pipeline.evaluation.results import CorpusResults, Rows


def write(folder: Path, corpora: list[CorpusResults]) -> None:
    """Write the tables into `folder`/plots/, one folder for each kind of chart that dvc.yaml names."""
    for corpus in corpora:
        files.write_table(folder / f"plots/learning_curves/{corpus.name}.csv", learning_curves(corpus))
        for part in corpus.test_parts:
            path = folder / f"plots/scores_by_length/{corpus.name}-{part}.csv"
            files.write_table(path, scores_by_length(corpus, part))


def learning_curves(corpus: CorpusResults) -> Rows:
    """The validation loss of each system at each of its validations."""
    return [
        {"system": system.name, "update": row["update"], "validation_loss": row["validation_loss"]}
        for system in corpus.systems
        for row in system.curves
    ]


def scores_by_length(corpus: CorpusResults, part: str) -> Rows:
    """The scores of each system on each bucket of source lengths of one test part, the shortest first."""
    columns = "bucket", "sentences", "bleu", "chrf"
    return [
        {"system": system.name, **{column: row[column] for column in columns}}
        for system in corpus.systems
        for row in system.by_length
        if row["part"] == part
    ]
