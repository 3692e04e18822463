"""Score one system's translations: data/decode/<system>/ -> metrics/<system>.json and data/score/<system>/.

The metrics are a few numbers, which `dvc metrics show` and `dvc exp show` put into columns; scores.json says how they
were computed.
"""

from itertools import compress
from pathlib import Path
from typing import Any

from pipeline import cli, files, summaries
from pipeline.corpora import parts
from pipeline.evaluation.scores import Row, Scoring, corpus_details, scores_by_length, summary, without_unknown
from pipeline.params import Reader
from pipeline.system import System
from pipeline.tracking import notes, runs
from pipeline.vocabularies.vocabulary import Vocabulary

READS = ("score",)


def main(name: str) -> None:
    """Score every test part as a whole, by the length of the source, and without the unknown words of a word list."""
    scoring = Reader(READS)(Scoring, "score")
    system = System.parse(name)
    split, decoded, out = system.split, system.decoded, system.scored
    pieces = Vocabulary.load(system.vocabulary_folder)
    searched = summaries.read(decoded / "decode.json", summaries.DecodeSettings)
    details: dict[str, dict[str, dict[str, Any]]] = {}
    scores: dict[str, dict[str, float]] = {}
    rows: list[Row] = []
    texts: dict[str, dict[str, list[str]]] = {}
    for part in test_parts(split, decoded):
        sources, references, hypotheses = read(split, decoded, part)
        texts[part] = {"source": sources, "translation": hypotheses, "reference": references}
        details[part] = corpus_details(hypotheses, references, scoring)
        scores[part] = summary(details[part])
        if pieces.whole_words:
            known = list(compress(references, pieces.known(sources, references)))
            scores[part] |= without_unknown(read_known(decoded, part, len(known)), known, scoring)
        rows += scores_by_length(part, sources, hypotheses, references, scoring)
    with files.new_folder(out) as folder:
        files.write_json(folder / "scores.json", details)
        files.write_table(folder / "by_length.csv", rows)
    training = summaries.read(system.training_summary, summaries.TrainingForScore)
    loss = {"validation": {"loss": training["best"]["validation_loss"]}}
    files.write_json(system.metrics, loss | scores)
    params = {"score": scoring.model_dump(), "decode": searched}
    with runs.scoring_run(
        system.id, stage="score", fingerprint=files.sha256(system.training_summary), log=system.log / "score.jsonl"
    ) as run:
        run.params(params)
        log_scores(run, system, scores, training)
        for part, columns in texts.items():
            data = parts.paths(split, part)
            run.dataset(f"{system.corpus} {part}", data, {"pairs": len(columns["source"])}, split)
            run.table(part, columns)
        for path in decoded, out:
            run.artifact(path, path.parent.name)


def test_parts(split: Path, decoded: Path) -> list[str]:
    """The test parts of a corpus, all of them translated.

    Raises: DataError if the translations are of other parts.
    """
    expected = list(filter(parts.is_test, parts.names(split)))
    found = sorted(path.stem for path in decoded.glob("*.txt"))
    if found != expected:
        raise files.DataError(
            f"{decoded}: must hold a translation of each test part of {split}, got {', '.join(found) or 'none'}; "
            f"expected {', '.join(expected)}"
        )
    return expected


def read(split: Path, decoded: Path, part: str) -> tuple[list[str], list[str], list[str]]:
    """Sources, references and translations of one part.

    Raises: DataError if the files are not parallel.
    """
    target, translated = parts.paths(split, part)[1], decoded / f"{part}.txt"
    pairs, hypotheses = list(parts.read(split, part)), list(files.read_lines(translated))
    if len(hypotheses) != len(pairs):
        raise files.not_parallel(translated, target)
    return [source for source, _ in pairs], [reference for _, reference in pairs], hypotheses


def read_known(decoded: Path, part: str, number: int) -> list[str]:
    """Translations into known words of the `number` pairs of a part that have no unknown word.

    Raises: DataError if there are more or fewer.
    """
    path = decoded / "without_unknown" / f"{part}.txt"
    hypotheses = list(files.read_lines(path))
    if len(hypotheses) != number:
        raise files.DataError(
            f"{path}: must have a line for each sentence of {part} without unknown words, got {len(hypotheses)}; "
            f"expected {number}"
        )
    return hypotheses


def log_scores(run: runs.Run, system: System, scores: dict[str, dict[str, float]], training: dict[str, Any]) -> None:
    """Log the scores and describe the system, in the training's run too."""
    found = {f"{part}/{metric}": value for part, by_metric in scores.items() for metric, value in by_metric.items()}
    run.log(0, **found, num_parameters=training["num_parameters"])
    languages = summaries.read(system.split / "languages.json", summaries.Languages)
    best = {name: value for name, value in training["best"].items() if name.startswith("validation_")}
    facts = notes.Facts(
        languages["source_language"], languages["target_language"], training["num_parameters"], best, scores
    )
    run.describe(notes.text(system, facts))


if __name__ == "__main__":
    cli.run(main)
