"""Who won on a test part, by how much, and whether that may be chance; and a row of scores for every system."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from ..console import tables
from ..evaluation.scores import caveats
from ..evaluation.settings import TITLES
from ..evaluation.significance import ALPHA, Standing, agreement
from .results import CorpusResults, SystemResults

LEVELS = (0.001, 0.01, ALPHA)  # below which a p is said to lie
LEAST = 5  # BLEU of a system that is ready
BROKEN = ("repetition", "copies", "empty")  # findings of systems that are not
FEW = 200  # sentences: fewer say little


class Verdict(NamedTuple):
    """The best systems on a test part, in a sentence."""

    winners: list[str]  # names of systems, the best first: several if they tie, none if the best is not ready
    claim: str  # `a wins`, `a and b tie`
    reason: str


class SystemRow(NamedTuple):
    """One system on one test part."""

    label: str
    state: str  # `won`, `tied` or nothing
    score: float
    standing: Standing
    cells: dict[str, str]  # under their titles


def verdict(corpus: CorpusResults, part: str) -> Verdict:
    """Which systems are the best on a test part, by their scores and standings."""
    ranked, metric, standings = corpus.best_first(part), corpus.metrics[0], corpus.standings[part]
    seeds = f", mean of {corpus.num_seeds} seeds" * (corpus.num_seeds > 1)
    measured, count = f"{TITLES[metric]} on {part}{seeds}", len(corpus.parts[part].sources)
    labels, scores = [corpus.label(system) for system in ranked], [system.score(part, metric) for system in ranked]
    few = f" ({count} sentences, one seed)" * (count < FEW and not seeds)
    if reasons := faults(ranked[0], part, metric):
        claim = "No winner yet" if ranked[1:] else f"{labels[0]} is not ready yet"
        leads = f"{labels[0]} leads with " if ranked[1:] else ""
        return Verdict([], claim, f"{leads}{scores[0]:.1f} {measured}, but {listed(reasons)}")
    if not ranked[1:]:
        return Verdict([ranked[0].name], f"{labels[0]}: {scores[0]:.1f} {measured}{few}", "")
    p_values = [standings[system.name].corrected if standings else None for system in ranked]
    tied = [n for n, p_value in enumerate(p_values) if n and (scores[n] == scores[0] or (p_value or 0) >= ALPHA)]
    winners = [ranked[place] for place in (0, *tied)]
    others = f" by {TITLES[metric]}, {listed(rivals)}" if (rivals := leaders(corpus, part, winners)) else ""
    names = [system.name for system in winners]
    if tied:
        values = listed(f"{scores[place]:.1f}" for place in (0, *tied))
        claim = f"{listed(labels[place] for place in (0, *tied))} tie{others}{few}"
        return Verdict(names, claim, f"{values} {measured}; {chance([p_values[place] for place in tied])}")
    lead, ahead = abs(scores[0] - scores[1]), "below" if metric == "ter" else "above"
    share = agreement(metric, lead)
    people = "" if share is None else f"; people agree with {100 * share:.0f} % of such differences"
    reason = f"{scores[0]:.1f} {measured}, {lead:.1f} {ahead} {labels[1]} ({chance(p_values[1:2])}{people})"
    return Verdict(names, f"{labels[0]} wins{others}{few}", reason)


def faults(system: SystemResults, part: str, metric: str) -> list[str]:
    """Why a system is not ready: loops, copies and empty lines of its diagnosis, or hardly any BLEU."""
    findings = [finding.partition(";")[0].partition(": ") for finding in system.diagnosis.get(part, ())]
    low = [f"a BLEU below {LEAST} is hardly a translation"] * (
        metric in ("bleu", "spbleu") and system.score(part, metric) < LEAST
    )
    return [text for kind, _, text in findings if kind in BROKEN] + low


def leaders(corpus: CorpusResults, part: str, winners: list[SystemResults]) -> list[str]:
    """`b leads by chrF` for each other metric by which another system is better than the winners."""
    bests = {metric: corpus.best_first(part, metric)[0] for metric in corpus.metrics[1:]}
    return [
        f"{corpus.label(best)} leads by {TITLES.get(metric, metric)}"
        for metric, best in bests.items()
        if best.score(part, metric) not in [winner.score(part, metric) for winner in winners]
    ]


def chance(p_values: Iterable[float | None]) -> str:
    """Whether differences may be chance, by the p of each; in words if they were not tested."""
    known = [p_value for p_value in p_values if p_value is not None]
    if not known:
        return "not tested for significance"
    if max(known) < ALPHA:
        return next(f"p < {level}" for level in LEVELS if max(known) < level)
    if len(known) == 1:
        return f"the difference may be chance (p = {known[0]:.2f})"
    return f"the differences may be chance (p from {min(known):.2f} to {max(known):.2f})"


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def rows(corpus: CorpusResults, part: str) -> list[SystemRow]:
    """The systems on a test part, the best first."""
    winners, systems = verdict(corpus, part).winners, []
    for system in corpus.best_first(part):
        score = system.score(part, corpus.metrics[0])
        standing = corpus.standings[part].get(system.name, Standing(score, 0.0, None, None))
        state = "" if system.name not in winners else "tied" if len(winners) > 1 else "won"
        systems.append(SystemRow(corpus.label(system), state, score, standing, cells(corpus, system, part, standing)))
    return systems


def cells(corpus: CorpusResults, system: SystemResults, part: str, standing: Standing) -> dict[str, str]:
    """Title and text of each cell of a system; the corrected p stands behind p if it looks different."""
    (metric, *others), best = corpus.metrics, corpus.best_first(part)[0]
    margin = f" ± s.d. of {corpus.num_seeds} seeds" if corpus.num_seeds > 1 else " ± 95 %"
    title = TITLES[metric] + margin * any(corpus.standings.values())
    texts = {title: f"{system.score(part, metric):.2f}" + (f" ± {standing.margin:.2f}" if standing.margin else "")}
    p_values = [value for value in (standing.p_value, standing.corrected) if value is not None]
    shown = [f"< {LEVELS[0]}" if value < LEVELS[0] else f"{value:.3f}" for value in p_values]
    shown[1:] = [f"({corrected})" for corrected in shown[1:] if corrected != shown[0]]
    share = agreement(metric, best.score(part, metric) - system.score(part, metric)) if system is not best else None
    if corpus.systems[1:]:
        texts |= {"p (Holm)": " ".join(shown) or "–", "people": "–" if share is None else f"{100 * share:.0f} %"}
    texts |= {TITLES.get(metric, metric): f"{system.score(part, metric):.2f}" for metric in others}
    if any("sentences_without_unknown" in scores for one in corpus.systems for scores in one.scores[0].values()):
        for metric in corpus.scoring.metrics:
            score = system.scores[0][part].get(f"{metric}_without_unknown")
            texts[f"{TITLES[metric]}, no unknown"] = "–" if score is None else f"{score:.2f}"
    return texts | {"parameters": f"{system.training['num_parameters']:,}"}


def terminal(corpus: CorpusResults) -> Table:
    """Every system's scores on each test part, the best first; without the last column, for terminals are narrow."""
    notes = dict.fromkeys(caveat for system in corpus.systems for caveat in caveats(system.scores[0]))
    boards = {part: rows(corpus, part) for part in corpus.parts}
    table = tables.titled("system", *[*next(iter(boards.values()))[0].cells][:-1])
    table.title, table.title_justify = f"Scores on {corpus.name}", "left"
    table.caption, table.caption_justify = ".\n".join([*notes, ""]), "left"
    for number, column in enumerate(table.columns):
        column.justify, column.no_wrap = ("right", False) if number else ("left", True)
    for part, systems in boards.items():
        table.add_section()
        table.add_row(Text(part, "bold"))
        for row in systems:
            table.add_row(row.label, *[*row.cells.values()][:-1])
    return table
