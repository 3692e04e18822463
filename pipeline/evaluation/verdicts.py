"""Which system won on a test part, by how much, and whether that may be chance, in words."""

from typing import NamedTuple

from pipeline.evaluation import tables
from pipeline.evaluation.results import CorpusResults
from pipeline.evaluation.significance import ALPHA

LEVELS = (0.001, 0.01, 0.05)  # below which a p is said to lie


class Verdict(NamedTuple):
    """A sentence: who, and what about it. A test part's name stands between backquotes."""

    winners: list[str]  # names of systems, the best first; several if chance may have ordered them
    claim: str  # `a wins`, `a and b tie`
    reason: str


def verdict(corpus: CorpusResults, part: str) -> Verdict:
    """What the scores on a test part say about its systems."""
    ranked = tables.best_first(corpus.systems, part, of_seeds=True)
    metric = tables.metrics(corpus.systems)[0]
    measured = f"{tables.TITLES[metric]} on `{part}`"
    seeds = f", mean of {corpus.num_seeds} seeds" if corpus.num_seeds > 1 else ""
    names = [corpus.label(system) for system in ranked]
    scores = [system.mean(part, metric) for system in ranked]
    if len(ranked) == 1:
        return Verdict([ranked[0].name], names[0], f"{scores[0]:.1f} {measured}{seeds}, the only system")
    chances = p_values(corpus, part)
    tied = [place for place, system in enumerate(ranked) if place and chances.get(system.name, 0) >= ALPHA]
    tied += [place for place, value in enumerate(scores) if place and value == scores[0] and place not in tied]
    if tied:
        places = [0, *sorted(tied)]
        values = enumerated([f"{scores[place]:.1f}" for place in places])
        return Verdict(
            [ranked[place].name for place in places],
            f"{enumerated([names[place] for place in places])} tie",
            f"{values} {measured}{seeds}; {tie_reason([chances.get(ranked[p].name) for p in places[1:]])}",
        )
    margin = abs(scores[0] - scores[1])
    ahead = "below" if metric == "ter" else "above"
    reason = f"{scores[0]:.1f} {measured}{seeds}, {margin:.1f} {ahead} {names[1]}"
    return Verdict([ranked[0].name], f"{names[0]} wins", f"{reason} ({chance(chances.get(ranked[1].name))})")


def p_values(corpus: CorpusResults, part: str) -> dict[str, float]:
    """p of each system that was compared with the best: of its seeds, or of its sentences if there is one seed."""
    if corpus.num_seeds > 1:
        best = tables.best_first(corpus.systems, part, of_seeds=True)[0].name
        chances = corpus.p_of_seeds(part, tables.metrics(corpus.systems)[0])
        return {name: found for pair, found in chances.items() if best in pair for name in pair - {best}}
    standings = corpus.comparisons[part].standings if corpus.comparisons else {}
    return {name: found.p_value for name, found in standings.items() if found.p_value is not None}


def chance(p_value: float | None) -> str:
    """How likely a difference is chance; in words if it was not tested."""
    if p_value is None:
        return "not tested for significance"
    return next((f"p < {level}" for level in LEVELS if p_value < level), f"p = {p_value:.2f}")


def tie_reason(chances: list[float | None]) -> str:
    """Why systems tie, by p of each against the first."""
    known = [p_value for p_value in chances if p_value is not None]
    if len(known) < len(chances):
        return "not tested for significance"
    if len(known) == 1:
        return f"the difference may be chance ({chance(known[0])})"
    return f"their differences may be chance (p from {min(known):.2f} to {max(known):.2f})"


def enumerated(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
