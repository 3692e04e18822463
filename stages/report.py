"""Put all systems that `build` chooses on one page: metrics/, runs/, data/ -> report/, data/plots/."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import rich

from pipeline import cli, files, summaries
from pipeline.corpora import parts
from pipeline.evaluation import analysis, attended, pages, plots, significance, tables
from pipeline.evaluation.pages import Report
from pipeline.evaluation.results import CorpusResults, SystemResults, built, read_rows
from pipeline.evaluation.scores import Scoring
from pipeline.evaluation.words import tokenizer
from pipeline.params import Reader
from pipeline.system import Build, System, encoded_folder, split_folder
from pipeline.tracking import runs

READS = ("build", "report", "score")
# Columns of numbers in the tables that the report reads.
CURVES = ("update", "train_loss", "validation_loss")
TRAIN_LOSS = ("update", "train_loss")
LENGTHS = ("lower", "sentences", "bleu", "chrf")


def main() -> None:
    """Write the page of the chosen systems, and print their scores."""
    read = Reader(READS)
    build, report, scoring = read(Build, "build"), read(Report, "report"), read(Scoring, "score")
    corpora = [
        compared(analysed(read_corpus(name, build, scoring), report, scoring), scoring) for name in build.corpora
    ]
    out = Path("report")
    with files.new_folder(out) as folder:
        pages.write(folder, corpora, report, resamples=scoring.bootstrap_samples)
        files.write_json(folder / "metrics.json", plots.metrics(corpora))
    plots.write(Path("data/plots"), corpora)
    for corpus in corpora:
        rich.print(*tables.terminal(corpus), sep="\n")
        for system in corpus.systems:
            with runs.system_run(
                system.id, stage="report", fingerprint=files.sha256(System.parse(system.id).training_summary)
            ) as run:
                for path in sorted(out.glob("index.*")) + sorted(out.glob("*.png")):  # without megabytes of plotly
                    run.artifact(path, "report")
                run.artifact(out / "attention" / system.id, f"report/attention/{system.id}")
                for path in sorted(out.glob(f"*-{corpus.name}.png")):
                    run.image(path, path.stem.removesuffix(f"-{corpus.name}"))
                for number, path in enumerate(sorted((out / "attention" / system.id).glob("*.png"))):
                    run.image(path, "attention", number)


def compared(corpus: CorpusResults, scoring: Scoring) -> CorpusResults:
    """The corpus with its systems compared on every test part, if `scoring` asks for BLEU."""
    if "bleu" not in scoring.metrics:
        return corpus
    comparisons = {
        part: significance.compare(
            {system.name: system.translations[part] for system in tables.best_first(corpus.systems, part)},
            [reference for _, reference in texts],
            tokenize=scoring.tokenize,
            num_samples=scoring.bootstrap_samples,
            seed=scoring.seed,
        )
        for part, texts in corpus.texts.items()
    }
    return replace(corpus, comparisons=comparisons)


def analysed(corpus: CorpusResults, report: Report, scoring: Scoring) -> CorpusResults:
    """The corpus with what its systems made of each test part."""
    words, analyses = analysis.of_parts(
        {part: [reference for _, reference in texts] for part, texts in corpus.texts.items()},
        {part: {system.name: system.translations[part] for system in corpus.systems} for part in corpus.texts},
        files.read_lines(parts.paths(split_folder(corpus.name), parts.TRAIN)[1]),
        tokenizer(scoring.tokenize),
        num_ngrams=report.ngrams,
        frequency_buckets=report.frequency_buckets,
    )
    return replace(corpus, words=words, analyses=analyses)


def read_corpus(name: str, build: Build, scoring: Scoring) -> CorpusResults:
    """A corpus, its systems and all that the page shows of them.

    Raises: DataError if a file is missing, with the command that builds it.
    """
    split = split_folder(name)
    splitting = summaries.read(built(Path("data/split", f"{name}.json"), f"split@{name}"), summaries.Split)
    tests = sorted(filter(parts.is_test, splitting["pairs"]), key=lambda part: (part != parts.TEST, part))
    scored = dict.fromkeys(tests, scoring.metrics)
    corpus = CorpusResults(
        name=name,
        cleaning=summaries.read(
            built(Path("data/clean", name, "clean.json"), f"clean@{name}"), summaries.CleaningCounts
        ),
        splitting=splitting,
        tokens={vocabulary: read_counts(name, vocabulary) for vocabulary in build.vocabularies},
        texts={part: list(parts.read(built(split, f"split@{name}"), part)) for part in tests},
        systems=[read_system(system, scored, build) for system in first_seed(build) if system.corpus == name],
        comparisons={},
        words={},
        analyses={},
        ensembles=[],
    )
    for system in corpus.systems:
        check_parallel(system, corpus)
    return corpus


def first_seed(build: Build) -> list[System]:
    """Every system once, with the first seed."""
    return build.model_copy(update={"seeds": build.seeds[:1]}).systems()


def read_counts(corpus: str, vocabulary: str) -> dict[str, dict[str, int]]:
    """How many tokens each part of a corpus has.

    Raises: DataError if the file is missing, with the command that builds it.
    """
    path = encoded_folder(corpus, vocabulary) / "encode.json"
    return dict(summaries.read(built(path, f"encode@{corpus}-{vocabulary}"), summaries.Encoded))


def check_parallel(system: SystemResults, corpus: CorpusResults) -> None:
    """Check that each sentence of the test parts has its translation.

    Raises: DataError with both numbers if there are more or fewer.
    """
    for part, texts in corpus.texts.items():
        if len(system.translations[part]) != len(texts):
            target = parts.paths(split_folder(corpus.name), part)[1]
            raise files.not_parallel(Path("data/decode", system.id, f"{part}.txt"), target)


def read_system(system: System, tests: Mapping[str, Sequence[str]], build: Build) -> SystemResults:
    """One system with its scores and translations of each test part, by these metrics, and the scores of other seeds.

    Raises: DataError if a file is missing, with the command that builds it.
    """
    train, decode, score, attend = (system.stage(name) for name in ("train", "decode", "score", "attend"))
    keys = [f"{part}.{metric}" for part, metrics in tests.items() for metric in metrics]
    scores = summaries.read(built(system.metrics, score), summaries.Scores, *keys)
    details = summaries.read(built(system.scored / "scores.json", score), summaries.Details, *keys)
    signatures = {part: {metric: found["signature"] for metric, found in details[part].items()} for part in tests}
    averaged = built(system.averaged / "average.json", system.stage("average"))
    further = [system._replace(seed=seed) for seed in build.seeds[1:]]
    return SystemResults(
        **system.axes,
        curves=read_rows(built(system.trained / "curves.csv", train), CURVES),
        train_loss=read_rows(built(system.trained / "train_loss.csv", train), TRAIN_LOSS),
        training=summaries.read(built(system.training_summary, train), summaries.TrainingForReport),
        average=summaries.read(averaged, summaries.Averaged),
        translations={part: list(files.read_lines(built(system.decoded / f"{part}.txt", decode))) for part in tests},
        scores={part: scores[part] | {"signatures": signatures[part]} for part in tests},
        attended=[
            sentence for part in tests for sentence in attended.read(built(system.attended / f"{part}.json", attend))
        ],
        by_length=read_rows(built(system.scored / "by_length.csv", score), LENGTHS, ("part", "bucket")),
        more_scores=[
            summaries.read(built(one.metrics, one.stage("score")), summaries.Scores, *keys) for one in further
        ],
    )


if __name__ == "__main__":
    cli.run(main)
