"""Put all systems that `build` chooses on one page: metrics/, runs/, data/ -> report/, data/plots/."""

from pathlib import Path

from pipeline.common import files
from pipeline.common.system import Build
from pipeline.console import cli, tables
from pipeline.report import leaderboard, outputs, page, plots
from pipeline.report.results import read_corpora
from pipeline.report.sentences import Report

READS = ("build", "report")


def main() -> None:
    """Write the page of the chosen systems, and print their scores."""
    build, section = Build.load(READS[0]), Report.load(READS[1])
    corpora = list(read_corpora(build.systems()))
    with files.new_folder(Path("report")) as folder:
        with files.new_file(folder / "index.html") as file:
            file.write(page.report(corpora, section))
        files.write_json(folder / "metrics.json", plots.metrics(corpora))
        for corpus in corpora:
            outputs.write(folder / "outputs" / corpus.name, corpus)
    plots.write(Path("data/plots"), corpora)
    for corpus in corpora:
        tables.show(leaderboard.terminal(corpus))


if __name__ == "__main__":
    cli.run(main)
