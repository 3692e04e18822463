"""Score one system's translations: data/decode/<system>/ -> metrics/<system>.json and data/score/<system>/.

The metrics are a few numbers, which `dvc metrics show` and `dvc exp show` put into columns; scores.json says how they
were computed.
"""

from itertools import compress
from pathlib import Path
from typing import Any

from pipeline.common import files, parts
from pipeline.common.system import System
from pipeline.console import cli
from pipeline.console.progress import say
from pipeline.evaluation import curves, external, scores, translations
from pipeline.evaluation.scores import Row
from pipeline.evaluation.settings import Scoring
from pipeline.evaluation.translations import Translated
from pipeline.tracking.runs import Run
from pipeline.vocabularies.vocabulary import Vocabulary

READS = ("score", "corpora/{corpus}.yaml:score")


def main(name: str) -> None:
    """Score every test part as a whole, by the length of the source, and without the unknown words of a word list."""
    system = System.parse(name)
    scoring = Scoring.load(*READS, corpus=system.corpus)
    training = files.read_json(system.training_summary)
    texts = translations.read(system.split, system.decoded, scoring.references)
    history, curve = curves.read(system.trained)
    of_training = curves.lines(curves.of_training(history, curve)) if history else ["trained elsewhere"]
    findings = {"training": of_training, **files.read_json(system.decoded / "diagnosis.json")}
    metrics = {"validation": {"loss": training["best"]["validation_loss"]}}
    with files.new_folder(system.scored) as folder:
        details, rows = {}, []
        for part, columns in texts.items():
            details[part], metrics[part], of_lengths = score(system, scoring, part, columns, folder)
            rows += of_lengths
        files.write_json(folder / "diagnosis.json", findings)
        files.write_json(folder / "scores.json", details)
        files.write_json(folder / "score.json", scoring.model_dump())
        files.write_table(folder / "by_length.csv", rows)
    files.write_json(system.metrics, metrics)
    for what, found in findings.items():
        say(f"diagnosis of {what}", *found)
    track(system, scoring, texts, {part: metrics[part] for part in texts})


def score(
    system: System, scoring: Scoring, part: str, columns: Translated, folder: Path
) -> tuple[dict[str, Any], dict[str, float], list[Row]]:
    """How each metric was computed, the numbers alone, and scores by length; sentence scores go into `folder`."""
    sources, references, lines = columns
    scoring = scoring.of(part, files.read_json(system.languages)["target_language"])
    pieces = Vocabulary.load(system.vocabulary_folder)
    details = scores.corpus_details(lines, references, scoring)
    for metric, program in scoring.external.items():
        details[metric], by_sentence = external.judged(metric, program, sources, lines, references)
        files.write_lines(folder / f"{metric}.{part}.txt", map(str, by_sentence))
    metrics = {metric: detail["score"] for metric, detail in details.items()}
    metrics |= scores.unmatchable(sources, references, pieces.writable)
    if pieces.whole_words:
        are_known = pieces.known(sources, references[0])
        known = [list(compress(one, are_known)) for one in references]
        limited = list(files.read_lines(system.decoded / "without_unknown" / f"{part}.txt"))
        metrics |= scores.without_unknown(limited, known, scoring)
    return details, metrics, scores.scores_by_length(part, sources, lines, references, scoring)


def track(system: System, scoring: Scoring, texts: dict[str, Translated], metrics: dict[str, dict[str, float]]) -> None:
    """Record the scores of the test parts in MLflow, with what they were computed from."""
    with Run(system) as run:
        run.open_scoring()
        run.params({"score": scoring.model_dump(), "decode": files.read_json(system.decoded / "decode.json")})
        run.scores(metrics)
        for part, (sources, references, lines) in texts.items():
            data = parts.paths(system.split, part)
            run.dataset(f"{system.corpus} {part}", system.split, data, {"pairs": len(sources)})
            run.table(part, {"source": sources, "reference": references[0], "translation": lines})
        for path in system.decoded, system.scored:
            run.artifact(path, path.parent.name)


if __name__ == "__main__":
    cli.run(main)
