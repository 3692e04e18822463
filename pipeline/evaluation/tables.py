"""Tables of scores and counts: Markdown as GitHub draws it, and one for the terminal."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from rich.table import Table

from pipeline.evaluation import seeds
from pipeline.evaluation.results import CorpusResults, SystemResults
from pipeline.evaluation.significance import ALPHA, Standing
from pipeline.terminal import printable

T = TypeVar("T")

TITLES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&#])")  # what Markdown, its tables or GitHub's formulas would take for markup
NONE = "–"  # no value


def escape(text: str) -> str:
    """`text` on one line, so that Markdown shows it letter for letter and a terminal obeys nothing of it."""
    return SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A Markdown table of cells that are Markdown already; the last `numbers` columns stand to the right."""
    rule = [":---"] * (len(header) - numbers) + ["---:"] * numbers
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def metrics(systems: Iterable[SystemResults]) -> list[str]:
    """The metrics by which any part of any system was scored, in their usual order."""
    found = {metric for system in systems for scores in system.scores.values() for metric in scores}
    return [metric for metric in TITLES if metric in found]


def best_first(systems: Iterable[SystemResults], part: str, *, of_seeds: bool = False) -> list[SystemResults]:
    """`systems`, best first, by their first metric on `part`, or by its mean of seeds; equal ones keep their order."""
    systems = list(systems)
    if not systems:
        return []
    by = metrics(systems)[0]
    scored = SystemResults.mean if of_seeds else SystemResults.score
    return ranked(systems, by, lambda system: scored(system, part, by))


def ranked(found: Iterable[T], metric: str, value: Callable[[T], float]) -> list[T]:
    """What has a value of a metric, best first; equal ones keep their order."""
    return sorted(found, key=value, reverse=metric != "ter")


def scores(corpus: CorpusResults, part: str) -> str:
    """The Markdown table of every system's scores on one test part, the best first."""
    titles = columns(corpus) + known_columns(corpus)
    rows = []
    for system in best_first(corpus.systems, part):
        about = [f"`{corpus.label(system)}`", count(system.training["num_parameters"])]
        rows.append([*about, *cells(corpus, system, part), *known_cells(corpus, system, part)])
    return markdown(["system", "parameters", *titles], rows, numbers=1 + len(titles))


def of_seeds(corpus: CorpusResults, part: str) -> str:
    """The Markdown table of what every system scored on one test part with several seeds, the best first."""
    chances = corpus.p_of_seeds(part, metrics(corpus.systems)[0])
    ranked, rows = best_first(corpus.systems, part, of_seeds=True), []
    for system in ranked:
        unclear = [
            f"`{corpus.label(other)}`"
            for other in ranked
            if chances.get(frozenset({system.name, other.name}), 0) >= ALPHA
        ]
        rows.append([f"`{corpus.label(system)}`", *seed_cells(corpus, system, part), ", ".join(unclear) or NONE])
    titles = seed_columns(corpus)
    return markdown(["system", *titles, "no clear difference to"], rows, numbers=1 + len(titles))


def ensembles(corpus: CorpusResults, part: str) -> str:
    """The Markdown table of every ensemble's scores on one test part, the best first."""
    measured = metrics(corpus.systems)
    rows = [
        [f"`{one.name}`", " and ".join(f"`{member}`" for member in one.members)]
        + [score(one.scores[part].get(metric)) for metric in measured]
        for one in ranked(corpus.ensembles, measured[0], lambda one: one.scores[part][measured[0]])
    ]
    return markdown(["ensemble", "systems", *(TITLES[name] for name in measured)], rows, numbers=len(measured))


def terminal(corpus: CorpusResults) -> list[Table]:
    """Every system's scores on each test part, the best first; those without unknown words in a table of their own."""
    boards = [board(corpus, f"Scores on {corpus.name}", columns(corpus), cells)]
    if titles := known_columns(corpus):
        boards.append(board(corpus, f"Scores on {corpus.name} without unknown words", titles, known_cells))
    if corpus.num_seeds > 1:
        title = f"{spread_of(corpus)} on {corpus.name}"
        boards.append(board(corpus, title, seed_columns(corpus), seed_cells, of_seeds=True))
    return boards


def board(
    corpus: CorpusResults,
    title: str,
    titles: list[str],
    cells: Callable[[CorpusResults, SystemResults, str], list[str]],
    *,
    of_seeds: bool = False,
) -> Table:
    """A table for the terminal, with the `cells` of each system and test part, the best first; see `best_first`."""
    table = Table(title=title, title_justify="left")
    table.add_column("system", no_wrap=True)
    for column in titles:
        table.add_column(column, justify="right")
    for part in corpus.test_parts:
        table.add_section()
        table.add_row(f"[bold]{part}")
        for system in best_first(corpus.systems, part, of_seeds=of_seeds):
            table.add_row(system.name, *cells(corpus, system, part))
    return table


def columns(corpus: CorpusResults) -> list[str]:
    """Titles of the columns of scores: the metrics; if systems were compared, interval and p after the first, BLEU."""
    titles = [TITLES[name] for name in metrics(corpus.systems)]
    return [titles[0], "95 % interval", "p", *titles[1:]] if corpus.comparisons else titles


def cells(corpus: CorpusResults, system: SystemResults, part: str) -> list[str]:
    """The cells of these columns for one system and test part."""
    texts = [score(system.scores[part].get(name)) for name in metrics(corpus.systems)]
    if not corpus.comparisons:
        return texts
    return [texts[0], *standing(corpus.comparisons[part].standings.get(system.name)), *texts[1:]]


def known_columns(corpus: CorpusResults) -> list[str]:
    """Titles of the columns of scores without unknown words; none if the vocabularies know every word."""
    titles = [f"{TITLES[name]}, no unknown" for name in metrics(corpus.systems)]
    return [*titles, "sentences, no unknown"] if knows(corpus) else []


def known_cells(corpus: CorpusResults, system: SystemResults, part: str) -> list[str]:
    """The cells of these columns for one system and test part."""
    if not knows(corpus):
        return []
    found = system.scores[part]
    number = found.get("sentences_without_unknown")
    texts = [score(found.get(f"{name}_without_unknown")) for name in metrics(corpus.systems)]
    return [*texts, NONE if number is None else count(number)]


def seed_columns(corpus: CorpusResults) -> list[str]:
    """Titles of the columns of several seeds: the metrics, and p after the first."""
    first, *rest = (TITLES[name] for name in metrics(corpus.systems))
    return [first, "p", *rest]


def seed_cells(corpus: CorpusResults, system: SystemResults, part: str) -> list[str]:
    """The cells of these columns for one system and test part."""
    measured = metrics(corpus.systems)
    found = [seeds.spread(system.of_seeds(part, metric)) for metric in measured]
    first, *rest = (f"{one.mean:.2f} ± {one.deviation:.2f}" for one in found)
    best = best_first(corpus.systems, part, of_seeds=True)[0]
    return [first, p_value(corpus.p_of_seeds(part, measured[0]).get(frozenset({system.name, best.name}))), *rest]


def spread_of(corpus: CorpusResults) -> str:
    """What the columns of several seeds hold, in words."""
    return f"Mean ± standard deviation of {corpus.num_seeds} seeds"


def knows(corpus: CorpusResults) -> bool:
    """Whether any system was scored without the unknown words of its vocabulary too."""
    return any("sentences_without_unknown" in found for system in corpus.systems for found in system.scores.values())


def score(value: Any) -> str:
    """A score, if there is one."""
    return NONE if value is None else f"{value:.2f}"


def standing(found: Standing | None) -> list[str]:
    """The interval of a system's BLEU, and how likely its difference to the best is chance."""
    if found is None:
        return [NONE, NONE]
    return [f"{found.mean:.2f} ± {found.margin:.2f}", p_value(found.p_value)]


def p_value(value: float | None) -> str:
    """How likely a difference is chance, if it was tested."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(number: int) -> str:
    """A count with its thousands apart."""
    return f"{number:,}"


def share(some: float, total: float) -> str:
    """`some` of `total` in per cent."""
    return f"{100 * some / total:.2f} %" if total else NONE
