"""The tables of README.md and docs/results.md from benchmarks/expected.json; `python -m docs.scores` renews them."""

import re
import statistics
from pathlib import Path
from typing import Any

from benchmarks.data_size import spread
from pipeline.common import files
from pipeline.evaluation.significance import agreement

ROOT = Path(__file__).parents[1]
README, RESULTS, EXPECTED = ROOT / "README.md", ROOT / "docs/results.md", ROOT / "benchmarks/expected.json"
PREFIX = "phrasebook_fr_en-bpe_2k-"  # of the bundled corpus's systems
MEASURES = ("test", "bleu"), ("compositional", "bleu"), ("test", "chrf")
HEAD = "| system | BLEU `test` | people | BLEU `compositional` | chrF `test` |\n| :--- | ---: | ---: | ---: | ---: |\n"
OTHER_MEASURES = ("test", "bleu"), ("test", "chrf"), ("validation", "loss")
COLUMNS = "| system | trainings | BLEU `test` | chrF `test` | validation loss |\n"
OTHERS_HEAD = COLUMNS + "| :--- |" + " ---: |" * 4 + "\n"


def table() -> str:
    """Mean and standard deviation of the trainings of each system of the bundled corpus, the best first."""
    systems = {
        name.removeprefix(PREFIX).rpartition("-")[0]: entry["runs"]
        for name, entry in files.read_json(EXPECTED).items()
        if name.startswith(PREFIX)
    }
    means = {name: statistics.fmean(run["scores"]["test"]["bleu"] for run in runs) for name, runs in systems.items()}
    best, rows = max(means.values()), []
    for name, mean in sorted(means.items(), key=lambda item: -item[1]):
        bleu, *others = cells(systems[name], MEASURES)
        people = "–" if mean == best else f"{100 * (agreement('bleu', best - mean) or 0):.0f} %"
        rows.append(f"| `{name}` | {bleu} | {people} | {' | '.join(others)} |\n")
    return HEAD + "".join(rows)


def others_table() -> str:
    """The same of the other corpora's systems, by name."""
    rows = []
    for name, entry in files.read_json(EXPECTED).items():
        if not name.startswith(PREFIX):
            runs = entry["runs"]
            rows.append(f"| `{name}` | {len(runs)} | {' | '.join(cells(runs, OTHER_MEASURES))} |\n")
    return OTHERS_HEAD + "".join(rows)


def cells(runs: list[dict[str, Any]], measures: tuple[tuple[str, str], ...]) -> list[str]:
    """A cell a measure."""
    return [
        spread([run["scores"][part][measure] for run in runs], 2 if measure == "loss" else 1)
        for part, measure in measures
    ]


def renewed(page: str) -> str:
    """A page with the tables in place of their former ones."""
    for head, new in ((HEAD, table()), (OTHERS_HEAD, others_table())):
        before, found, after = page.partition(head)
        page = before + new + re.sub(r"^(\|.*\n)*", "", after) if found else page
    return page


if __name__ == "__main__":
    for path in (README, RESULTS):
        with files.new_file(path) as file:
            file.write(renewed(path.read_text(encoding="utf-8")))
