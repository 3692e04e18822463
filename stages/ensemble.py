"""Translate and score the test parts with two systems together: -> data/decode/<name>/ and metrics/<name>.json."""

from pathlib import Path

from pipeline import cli, files, summaries
from pipeline.corpora import parts
from pipeline.decoding.translate import Decoding
from pipeline.decoding.translator import Translator
from pipeline.ensembles import Pair, decoded_folder, metrics_file
from pipeline.evaluation.scores import Scoring, corpus_scores
from pipeline.params import Reader
from pipeline.tracking import runs

READS = ("ensembles.pairs.{name}", "decode", "corpora/{corpus}.yaml:decode", "score")


def main(name: str) -> None:
    """Write a translation of every line of every test part, the settings of the search, and the scores."""
    pair = Reader(READS, name=name)(Pair, READS[0])
    read = Reader(READS, corpus=pair.corpus)
    decoding, scoring = read(Decoding, *READS[1:3]), read(Scoring, READS[3])
    first, second = pair.systems
    translator = Translator.ensemble([Translator.built(system) for system in (first, second)])
    scores = {}
    with files.new_folder(decoded_folder(name)) as folder:
        for part, lines, references in parts.read_tests(first.split):
            unknown = translator.vocabulary.whole_words
            translations = translator.translate(lines, decoding, f"{name} {part}", unknown=unknown)
            files.write_lines(folder / f"{part}.txt", translations)
            scores[part] = corpus_scores(translations, references, scoring)
        about = {"members": [first.id, second.id], "decoding": decoding.model_dump(), "score": scoring.model_dump()}
        files.write_json(folder / "ensemble.json", about)
    files.write_json(metrics_file(name), scores)
    fingerprint = summaries.read(first.training_summary, summaries.TrainingSummary)["fingerprint"]
    log = Path("work/logs", name, "ensemble.jsonl")
    with runs.scoring_run(first.id, stage="ensemble", fingerprint=fingerprint, log=log) as run:
        run.params({"ensemble": pair.model_dump(), "decode": decoding.model_dump(), "score": scoring.model_dump()})
        found = {f"{name}/{part}/{metric}": value for part, by in scores.items() for metric, value in by.items()}
        run.log(0, **found)
        run.artifact(decoded_folder(name), "decode")


if __name__ == "__main__":
    cli.run(main)
