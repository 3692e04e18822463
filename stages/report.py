"""Gather the systems that `build` chose on one page: metrics/, runs/ and data/ -> report/."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import rich

from pipeline import cli, files, summaries
from pipeline.build import Build
from pipeline.corpora import parts
from pipeline.evaluation import attended, pages, plots, significance, tables
from pipeline.evaluation.pages import Report
from pipeline.evaluation.results import Corpus, System, built, read_rows
from pipeline.evaluation.scores import Scoring
from pipeline.params import Reader
from pipeline.tracking import runs

READS = ("build", "report", "score")
# Of the tables that the report reads, the columns of numbers.
CURVES = ("update", "train_loss", "validation_loss")
LENGTHS = ("lower", "sentences", "bleu", "chrf")


def main() -> None:
    """Write the page of exactly the systems chosen, and show their scores."""
    read = Reader(READS)
    build, report, scoring = read(Build, "build"), read(Report, "report"), read(Scoring, "score")
    corpora = [compared(read_corpus(name, build, scoring), report, scoring) for name in build.corpora]
    out = Path("report")
    with files.new_folder(out) as folder:
        pages.write(folder, corpora, report)
        plots.write(folder, corpora)
    for corpus in corpora:
        rich.print(*tables.terminal(corpus), sep="\n")
        for system in corpus.systems:
            with runs.system_run(system.id, stage="report", fingerprint=system.training["fingerprint"]) as run:
                for path in sorted(out.glob("index.*")) + sorted(out.glob("*.png")):  # without megabytes of plotly
                    run.artifact(path, "report")
                run.artifact(out / "attention" / system.id, f"report/attention/{system.id}")


def compared(corpus: Corpus, report: Report, scoring: Scoring) -> Corpus:
    """The corpus with its systems compared on every test part, where `scoring` asks for BLEU."""
    if "bleu" not in scoring.metrics:
        return corpus
    comparisons = {
        part: significance.compare(
            {system.name: system.translations[part] for system in tables.best_first(corpus.systems, part)},
            [reference for _, reference in texts],
            tokenize=scoring.tokenize,
            num_samples=report.bootstrap_samples,
            seed=report.seed,
        )
        for part, texts in corpus.texts.items()
    }
    return replace(corpus, comparisons=comparisons)


def read_corpus(name: str, build: Build, scoring: Scoring) -> Corpus:
    """A corpus, its systems and everything the page says about them.

    Raises: DataError where a file is missing, with the command that builds it.
    """
    split = Path("data/split", name)
    splitting = summaries.read(built(Path("data/split", f"{name}.json"), f"split@{name}"), summaries.Split)
    tests = sorted(filter(parts.is_test, splitting["pairs"]), key=lambda part: (part != parts.TEST, part))
    scored = dict.fromkeys(tests, scoring.metrics)
    encoded = {vocabulary: f"{name}-{vocabulary}" for vocabulary in build.vocabularies}
    corpus = Corpus(
        name=name,
        cleaning=summaries.read(built(Path("data/clean", name, "clean.json"), f"clean@{name}"), summaries.Dropped),
        splitting=splitting,
        tokens={
            vocabulary: summaries.read(
                built(Path("data/encode", both, "encode.json"), f"encode@{both}"), summaries.Encoded
            )
            for vocabulary, both in encoded.items()
        },
        texts={part: list(parts.read(built(split, f"split@{name}"), part)) for part in tests},
        systems=[read_system(*axes, scored) for axes in build.combinations() if axes[0] == name],
        comparisons={},
    )
    for system in corpus.systems:
        check_parallel(system, corpus)
    return corpus


def check_parallel(system: System, corpus: Corpus) -> None:
    """Check that each sentence of the test parts has its translation.

    Raises: DataError with both numbers where there are more or fewer.
    """
    for part, texts in corpus.texts.items():
        if len(system.translations[part]) != len(texts):
            target = parts.paths(Path("data/split", corpus.name), part)[1]
            raise files.not_parallel(Path("data/decode", system.id, f"{part}.txt"), target)


def read_system(corpus: str, vocabulary: str, model: str, size: str, tests: Mapping[str, Sequence[str]]) -> System:
    """One system and what it scored and translated: of each test part, by these metrics.

    Raises: DataError where a file is missing, with the command that builds it.
    """
    system = f"{corpus}-{vocabulary}-{model}-{size}"
    runs, decoded = Path("runs", system), Path("data/decode", system)
    keys = [f"{part}.{metric}" for part, metrics in tests.items() for metric in metrics]
    scores = summaries.read(built(Path("metrics", f"{system}.json"), f"score@{system}"), summaries.Scores, *keys)
    path = built(Path("data/score", system, "scores.json"), f"score@{system}")
    details = summaries.read(path, summaries.Details, *keys)
    signatures = {part: {metric: found["signature"] for metric, found in details[part].items()} for part in tests}
    return System(
        corpus=corpus,
        vocabulary=vocabulary,
        model=model,
        size=size,
        curves=read_rows(built(runs / "train/curves.csv", f"train@{system}"), CURVES),
        training=summaries.read(built(runs / "train/training.json", f"train@{system}"), summaries.Summed),
        average=summaries.read(built(runs / "average/average.json", f"average@{system}"), summaries.Averaged),
        translations={
            part: list(files.read_lines(built(decoded / f"{part}.txt", f"decode@{system}"))) for part in tests
        },
        scores={part: scores[part] | {"signatures": signatures[part]} for part in tests},
        attended=[
            sentence
            for part in tests
            for sentence in attended.read(built(Path("data/attend", system, f"{part}.json"), f"attend@{system}"))
        ],
        by_length=read_rows(
            built(Path("data/score", system, "by_length.csv"), f"score@{system}"), LENGTHS, ("part", "bucket")
        ),
    )


if __name__ == "__main__":
    cli.run(main)
