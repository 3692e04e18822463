"""Tables of scores and counts: Markdown as GitHub draws it, and one for the terminal."""

import re
from collections.abc import Iterable, Sequence

from rich.table import Table

from pipeline.evaluation.results import Corpus, System

TITLES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&#])")  # what Markdown, its tables or GitHub's formulas would take for markup


def escape(text: str) -> str:
    """`text` on one line, so that Markdown shows it letter for letter."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A Markdown table of cells that are Markdown already; the last `numbers` columns stand to the right."""
    rule = [":---"] * (len(header) - numbers) + ["---:"] * numbers
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def metrics(systems: Iterable[System]) -> list[str]:
    """The metrics that any part of any system was scored by, in their usual order."""
    found = {metric for system in systems for scores in system.scores.values() for metric in scores}
    return [metric for metric in TITLES if metric in found]


def best_first(systems: Iterable[System], part: str) -> list[System]:
    """`systems` by their first metric on `part`; those that are equal stay in their order."""
    systems = list(systems)
    if not systems:
        return []
    by = metrics(systems)[0]
    return sorted(systems, key=lambda system: system.scores[part][by], reverse=by != "ter")


def scores(corpus: Corpus, part: str) -> str:
    """The Markdown table of every system's scores on one test part, the best first."""
    names = metrics(corpus.systems)
    rows = [
        [str(rank), f"`{system.id}`", count(system.training["num_parameters"]), *values(system, part, names)]
        for rank, system in enumerate(best_first(corpus.systems, part), 1)
    ]
    return markdown(["", "system", "parameters", *(TITLES[name] for name in names)], rows, numbers=1 + len(names))


def terminal(corpus: Corpus) -> Table:
    """Every system's scores on each test part, the best first."""
    names = metrics(corpus.systems)
    table = Table("test part", "system", title=f"Scores on {corpus.name}", title_justify="left")
    for name in names:
        table.add_column(TITLES[name], justify="right", no_wrap=True)
    for part in corpus.test_parts:
        table.add_section()
        for rank, system in enumerate(best_first(corpus.systems, part)):
            table.add_row("" if rank else part, system.name, *values(system, part, names))
    return table


def values(system: System, part: str, names: Iterable[str]) -> list[str]:
    """A system's scores on one test part, as text."""
    return [f"{system.scores[part][name]:.2f}" for name in names]


def count(number: int) -> str:
    """A count with its thousands apart."""
    return f"{number:,}"


def share(some: float, total: float) -> str:
    """`some` of `total` in per cent."""
    return f"{100 * some / total:.2f} %" if total else "–"
