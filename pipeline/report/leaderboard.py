"""Who won on a test part, by how much, and whether that may be chance; and a row of scores for every system."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ..evaluation.settings import TITLES
from ..evaluation.significance import ALPHA, Standing, agreement
from .results import CorpusResults, SystemResults

LEVELS = (0.001, 0.01, 0.05)  # below which a p is said to lie


class Verdict(NamedTuple):
    """A sentence: who, and what about it."""

    winners: list[str]  # names of systems, the best first; several if chance may have ordered them
    claim: str  # `a wins`, `a and b tie`
    reason: str


class Row(NamedTuple):
    """One system on one test part."""

    label: str
    state: str  # `won`, `tied` or nothing
    score: float
    low: float  # the ends of its interval; both the score if there is none
    high: float
    cells: list[str]  # one for each of `columns`


def verdict(corpus: CorpusResults, part: str) -> Verdict:
    """What the scores on a test part say about its systems."""
    ranked, metric, standings = corpus.best_first(part), corpus.metrics[0], corpus.standings[part]
    measured = f"{TITLES[metric]} on {part}" + f", mean of {corpus.num_seeds} seeds" * (corpus.num_seeds > 1)
    labels = [corpus.label(system) for system in ranked]
    scores = [system.score(part, metric) for system in ranked]
    if len(ranked) == 1:
        return Verdict([ranked[0].name], labels[0], f"{scores[0]:.1f} {measured}, the only system")
    p_values = [standings[system.name].corrected if standings else None for system in ranked]
    tied = [n for n, p_value in enumerate(p_values) if n and (scores[n] == scores[0] or (p_value or 0) >= ALPHA)]
    if tied:
        values = listed(f"{scores[place]:.1f}" for place in (0, *tied))
        claim = f"{listed(labels[place] for place in (0, *tied))} tie"
        reason = f"{values} {measured}; {doubt([p_values[place] for place in tied])}"
        return Verdict([ranked[place].name for place in (0, *tied)], claim, reason)
    lead, ahead = abs(scores[0] - scores[1]), "below" if metric == "ter" else "above"
    reason = f"{scores[0]:.1f} {measured}, {lead:.1f} {ahead} {labels[1]} ({chance(p_values[1])}{people(metric, lead)})"
    return Verdict([ranked[0].name], f"{labels[0]} wins", reason)


def people(metric: str, difference: float) -> str:
    """How many people agree with a difference, as the end of a sentence; nothing where that is not known."""
    share = agreement(metric, difference)
    return "" if share is None else f"; people agree with {100 * share:.0f} % of such differences"


def doubt(p_values: list[float | None]) -> str:
    """Why systems tie, by the p of each against the best."""
    known = [p_value for p_value in p_values if p_value is not None]
    if not known:
        return chance(None)
    if len(known) == 1:
        return f"the difference may be chance (p = {known[0]:.2f})"
    return f"the differences may be chance (p from {min(known):.2f} to {max(known):.2f})"


def chance(p_value: float | None) -> str:
    """How likely a difference is chance; in words if it was not tested."""
    if p_value is None:
        return "not tested for significance"
    return next((f"p < {level}" for level in LEVELS if p_value < level), f"p = {p_value:.2f}")


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def columns(corpus: CorpusResults) -> list[str]:
    """Titles of the cells of a row."""
    first, *rest = [TITLES.get(metric, metric) for metric in corpus.metrics]
    margin = f" ± s.d. of {corpus.num_seeds} seeds" if corpus.num_seeds > 1 else " ± 95 %"
    unknown = [f"{TITLES[metric]}, no unknown" for metric in corpus.scoring.metrics] if knows_unknown(corpus) else []
    return [first + margin * any(corpus.standings.values()), "p (Holm)", "people", *rest, *unknown, "parameters"]


def knows_unknown(corpus: CorpusResults) -> bool:
    """Whether any system was scored without the sentences that have unknown words."""
    return any("sentences_without_unknown" in scores for one in corpus.systems for scores in one.scores[0].values())


def rows(corpus: CorpusResults, part: str) -> list[Row]:
    """The systems on a test part, the best first."""
    winners = verdict(corpus, part).winners
    state = "tied" if len(winners) > 1 else "won"
    found = []
    for system in corpus.best_first(part):
        score = system.score(part, corpus.metrics[0])
        one = corpus.standings[part].get(system.name, Standing(score, 0.0, None, None))
        won = state if system.name in winners else ""
        cells = score_cells(corpus, system, part, one)
        found.append(Row(corpus.label(system), won, score, one.mean - one.margin, one.mean + one.margin, cells))
    return found


def score_cells(corpus: CorpusResults, system: SystemResults, part: str, standing: Standing) -> list[str]:
    """What a table says of a system."""
    first, *rest = [f"{system.score(part, metric):.2f}" for metric in corpus.metrics]
    margin = f" ± {standing.margin:.2f}" if standing.margin else ""
    best, metric = corpus.best_first(part)[0], corpus.metrics[0]
    share = agreement(metric, best.score(part, metric) - system.score(part, metric)) if system is not best else None
    compared = [p_cell(standing), "–" if share is None else f"{100 * share:.0f} %"]
    unknown = [system.scores[0][part].get(f"{metric}_without_unknown") for metric in corpus.scoring.metrics]
    known = [f"{score:.2f}" if score is not None else "–" for score in unknown] if knows_unknown(corpus) else []
    return [first + margin, *compared, *rest, *known, f"{system.training['num_parameters']:,}"]


def p_cell(standing: Standing) -> str:
    """A p as a table shows it, and the corrected one behind it if it looks different."""
    known = [value for value in (standing.p_value, standing.corrected) if value is not None]
    shown = [f"< {LEVELS[0]}" if value < LEVELS[0] else f"{value:.3f}" for value in known]
    return shown[0] + f" ({shown[1]})" * (shown[0] != shown[1]) if shown else "–"


def terminal(corpus: CorpusResults) -> Table:
    """Every system's scores on each test part, the best first; without the last column, for terminals are narrow."""
    caption = ".\n".join([*corpus.caveats, ""])
    table = Table(
        title=f"Scores on {corpus.name}", title_justify="left", caption=caption, caption_justify="left", box=SIMPLE_HEAD
    )
    table.add_column("system", no_wrap=True)
    for column in columns(corpus)[:-1]:
        table.add_column(column, justify="right")
    for part in corpus.parts:
        table.add_section()
        table.add_row(f"[bold]{part}")
        for row in rows(corpus, part):
            table.add_row(row.label, *row.cells[:-1])
    return table
