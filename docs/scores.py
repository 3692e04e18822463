"""The table of the bundled corpus in README.md, from benchmarks/expected.json; `python -m docs.scores` renews it."""

import re
import statistics
from pathlib import Path

from benchmarks.data_size import spread
from pipeline.common import files
from pipeline.evaluation.significance import agreement

ROOT = Path(__file__).parents[1]
README, EXPECTED = ROOT / "README.md", ROOT / "benchmarks/expected.json"
PREFIX = "phrasebook_fr_en-bpe_2k-"  # of the systems
MEASURES = ("test", "bleu"), ("compositional", "bleu"), ("test", "chrf")
HEAD = "| system | BLEU `test` | people | BLEU `compositional` | chrF `test` |\n| :--- | ---: | ---: | ---: | ---: |\n"


def table() -> str:
    """Mean and standard deviation of the trainings of each system, the best first."""
    systems = {
        name.removeprefix(PREFIX).rpartition("-")[0]: [run["scores"] for run in entry["runs"]]
        for name, entry in files.read_json(EXPECTED).items()
        if name.startswith(PREFIX)
    }
    means = {name: statistics.fmean(scores["test"]["bleu"] for scores in runs) for name, runs in systems.items()}
    best, rows = max(means.values()), []
    for name, mean in sorted(means.items(), key=lambda item: -item[1]):
        cells = [spread([scores[part][metric] for scores in systems[name]]) for part, metric in MEASURES]
        people = "–" if mean == best else f"{100 * (agreement('bleu', best - mean) or 0):.0f} %"
        rows.append(f"| `{name}` | {cells[0]} | {people} | {' | '.join(cells[1:])} |\n")
    return HEAD + "".join(rows)


def renewed(page: str) -> str:
    """A page with the table in place of its former one."""
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), page)


if __name__ == "__main__":
    with files.new_file(README) as file:
        file.write(renewed(README.read_text(encoding="utf-8")))
