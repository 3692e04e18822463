"""Gather the systems that `build` chose on one page: metrics/, runs/ and data/ -> report/."""

from pathlib import Path

import rich

from pipeline import cli, files, tracking
from pipeline.build import Build
from pipeline.data import parts
from pipeline.evaluation import pages, tables
from pipeline.evaluation.results import Corpus, System, built, read_rows
from pipeline.params import Reader

READS = ("build", "report")


def main() -> None:
    """Write the page of exactly the systems chosen, and show their scores."""
    read = Reader(READS)
    build, report = read(Build, "build"), read(pages.Report, "report")
    corpora = [read_corpus(name, build) for name in build.corpora]
    out = Path("report")
    with files.new_folder(out) as folder:
        pages.write(folder, corpora, report)
    for corpus in corpora:
        rich.print(tables.terminal(corpus))
        for system in corpus.systems:
            with tracking.system_run(system.id, stage="report", fingerprint=system.training["fingerprint"]) as run:
                run.artifact(out, "report")


def read_corpus(name: str, build: Build) -> Corpus:
    """A corpus, its systems and everything the page says about them.

    Raises: DataError where a file is missing, with the command that builds it.
    """
    split = Path("data/split", name)
    splitting = files.read_json(built(Path("data/split", f"{name}.json"), f"split@{name}"))
    tests = sorted(filter(parts.is_test, splitting["pairs"]), key=lambda part: (part != parts.TEST, part))
    encoded = {vocabulary: f"{name}-{vocabulary}" for vocabulary in build.vocabularies}
    return Corpus(
        name=name,
        cleaning=files.read_json(built(Path("data/clean", name, "clean.json"), f"clean@{name}")),
        splitting=splitting,
        tokens={
            vocabulary: files.read_json(built(Path("data/encode", both, "encode.json"), f"encode@{both}"))
            for vocabulary, both in encoded.items()
        },
        texts={part: list(parts.read(built(split, f"split@{name}"), part)) for part in tests},
        systems=[read_system(*axes, tests) for axes in build.combinations() if axes[0] == name],
    )


def read_system(corpus: str, vocabulary: str, model: str, size: str, tests: list[str]) -> System:
    """One system and what it scored and translated.

    Raises: DataError where a file is missing, with the command that builds it.
    """
    system = f"{corpus}-{vocabulary}-{model}-{size}"
    runs, decoded = Path("runs", system), Path("data/decode", system)
    return System(
        corpus=corpus,
        vocabulary=vocabulary,
        model=model,
        size=size,
        curves=read_rows(built(runs / "train/curves.csv", f"train@{system}")),
        training=files.read_json(built(runs / "train/training.json", f"train@{system}")),
        average=files.read_json(built(runs / "average/average.json", f"average@{system}")),
        translations={
            part: list(files.read_lines(built(decoded / f"{part}.txt", f"decode@{system}"))) for part in tests
        },
        scores=files.read_json(built(Path("metrics", f"{system}.json"), f"score@{system}")),
        by_length=read_rows(built(Path("data/score", system, "by_length.csv"), f"score@{system}")),
    )


if __name__ == "__main__":
    cli.run(main)
