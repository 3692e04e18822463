"""Score one system's translations: data/decode/<system>/ -> metrics/<system>.json and data/score/<system>/.

The metrics are a few numbers, which `dvc metrics show` and `dvc exp show` put into columns; scores.json says how they
were computed.
"""

from itertools import compress

from pipeline import cli
from pipeline.common import files, parts
from pipeline.common.params import Reader
from pipeline.common.system import System
from pipeline.evaluation import curves, scores, translations
from pipeline.evaluation.scores import Scoring
from pipeline.progress import say
from pipeline.tracking import runs
from pipeline.vocabularies.vocabulary import Vocabulary

READS = ("score",)


def main(name: str) -> None:
    """Score every test part as a whole, by the length of the source, and without the unknown words of a word list."""
    system = System.parse(name)
    scoring = Reader(READS)(Scoring, "score").into(files.read_json(system.languages)["target_language"])
    pieces = Vocabulary.load(system.vocabulary_folder)
    training = files.read_json(system.training_summary)
    texts = translations.read(system.split, system.decoded)
    details, rows = {}, []
    metrics: dict[str, dict[str, float]] = {"validation": {"loss": training["best"]["validation_loss"]}}
    for part, (sources, references, lines) in texts.items():
        details[part] = scores.corpus_details(lines, references, scoring)
        metrics[part] = {metric: detail["score"] for metric, detail in details[part].items()}
        metrics[part] |= scores.unmatchable(sources, references, pieces.writable(references))
        rows += scores.scores_by_length(part, sources, lines, references, scoring)
        if pieces.whole_words:
            known = list(compress(references, pieces.known(sources, references)))
            limited = list(files.read_lines(system.decoded / "without_unknown" / f"{part}.txt"))
            metrics[part] |= scores.without_unknown(limited, known, scoring)
    rows_of_training = (files.read_table(system.trained / name) for name in ("curves.csv", "train_loss.csv"))
    findings = {"training": curves.lines(curves.of_training(*rows_of_training))}
    findings |= files.read_json(system.decoded / "diagnosis.json")
    with files.new_folder(system.scored) as folder:
        files.write_json(folder / "diagnosis.json", findings)
        files.write_json(folder / "scores.json", details)
        files.write_table(folder / "by_length.csv", rows)
    files.write_json(system.metrics, metrics)
    for what, found in findings.items():
        say(f"diagnosis of {what}", *found)
    params = {"score": scoring.model_dump(), "decode": files.read_json(system.decoded / "decode.json")}
    with runs.scoring_run(system) as run:
        run.params(params)
        run.scores({part: metrics[part] for part in texts}, system)
        for part, columns in texts.items():
            data = parts.paths(system.split, part)
            run.dataset(f"{system.corpus} {part}", system.split, data, {"pairs": len(columns.sources)})
            run.table(part, dict(zip(("source", "reference", "translation"), columns, strict=True)))
        for path in system.decoded, system.scored:
            run.artifact(path, path.parent.name)


if __name__ == "__main__":
    cli.run(main)
