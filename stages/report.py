"""Put all systems that `build` chooses on one page: metrics/, runs/, data/ -> report/, data/plots/."""

from pathlib import Path

import rich

from pipeline import cli
from pipeline.common import files
from pipeline.common.params import Reader
from pipeline.common.system import Build
from pipeline.evaluation.scores import Scoring
from pipeline.report import leaderboard, page, plots
from pipeline.report.results import read_corpora
from pipeline.report.sentences import Report
from pipeline.tracking import runs

READS = ("build", "report", "score")


def main() -> None:
    """Write the page of the chosen systems, and print their scores."""
    read = Reader(READS)
    build, section, scoring = read(Build, "build"), read(Report, "report"), read(Scoring, "score")
    corpora = list(read_corpora(build.systems(), scoring))
    out = Path("report")
    with files.new_folder(out) as folder:
        with files.new_file(folder / "index.html") as file:
            file.write(page.report(corpora, section, scoring.bootstrap_samples))
        files.write_json(folder / "metrics.json", plots.metrics(corpora))
    plots.write(Path("data/plots"), corpora)
    for corpus in corpora:
        rich.print(leaderboard.terminal(corpus))
        for one in corpus.systems:
            with runs.finished_training(one.system) as run:
                run.artifact(out / "index.html", "report")


if __name__ == "__main__":
    cli.run(main)
