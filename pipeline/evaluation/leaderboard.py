"""The first thing on the page: which system won on each test part and by how much, with a bar for every system."""

from html import escape

from pipeline.evaluation import tables, verdicts
from pipeline.evaluation.html_pages import Fragment
from pipeline.evaluation.results import CorpusResults
from pipeline.evaluation.seeds import spread
from pipeline.evaluation.verdicts import Verdict

FULL = 100.0  # the end of the bars


def panel(corpus: CorpusResults) -> Fragment:
    """The verdict on every test part of a corpus, the first part's as the headline."""
    found = {part: verdicts.verdict(corpus, part) for part in corpus.test_parts}
    lines = "".join(f"- **{tables.escape(one.claim)}**: {sentence(one)}\n" for one in found.values())
    return Fragment(lines, html(corpus, found))


def sentence(verdict: Verdict) -> str:
    """The reason in Markdown; a test part keeps its backquotes."""
    pieces = verdict.reason.split("`")  # every other piece is a name
    return "`".join(piece if index % 2 else tables.SPECIAL.sub(r"\\\1", piece) for index, piece in enumerate(pieces))


def html(corpus: CorpusResults, found: dict[str, Verdict]) -> str:
    """The panel: the headline, a line for each test part, the bars."""
    source, target = (escape(str(corpus.cleaning[f"{side}_language"])) for side in ("source", "target"))
    number = len(corpus.systems)
    about = f"<code>{escape(corpus.name)}</code>, {source} → {target}, {number} system{'s' * (number > 1)}"
    headline = next(iter(found.values())).claim
    reasons = [reason(verdict, headline) for verdict in found.values()]
    bars = "".join(part_bars(corpus, part, verdict) for part, verdict in found.items())
    return (
        f'<section class="verdict">\n<p class="about">{about}</p>\n<p class="claim">{escape(headline)}</p>\n'
        f'{"".join(reasons)}<div class="parts">\n{bars}</div>\n</section>\n'
    )


def reason(verdict: Verdict, headline: str) -> str:
    """One line under the headline, which says who won if that is another system."""
    who = "" if verdict.claim == headline else f"<b>{escape(verdict.claim)}</b>: "
    pieces = escape(verdict.reason).split("`")  # every other piece is a name
    words = "".join(f"<code>{piece}</code>" if index % 2 else piece for index, piece in enumerate(pieces))
    return f'<p class="reason">{who}{words}</p>\n'


def part_bars(corpus: CorpusResults, part: str, verdict: Verdict) -> str:
    """A bar for each system, the best first, with the spread of its seeds or its 95 % interval if there is one."""
    metric = tables.metrics(corpus.systems)[0]
    centres, about = whiskers(corpus, part, metric)
    sentences = f"{tables.count(len(corpus.texts[part]))} sentences"
    title = f"{tables.TITLES[metric]} on <code>{escape(part)}</code>, {sentences}{about}"
    state = "tied" if len(verdict.winners) > 1 else "won"
    rows = []
    for system in tables.best_first(corpus.systems, part, of_seeds=True):
        score = system.mean(part, metric)
        chosen = f' class="{state}"' if system.name in verdict.winners else ""
        whisker = ""
        if system.name in centres:
            mean, margin = centres[system.name]
            low, high = (place(mean + sign * margin) for sign in (-1, 1))
            whisker = f'<u style="--low: {low:.2f}%; --span: {high - low:.2f}%"></u>'
        rows.append(
            f'<li{chosen}><span class="name">{escape(corpus.label(system))}</span>'
            f'<span class="track" aria-hidden="true"><i style="--value: {place(score):.2f}%"></i>{whisker}</span>'
            f'<span class="value">{score:.1f}</span></li>\n'
        )
    return f'<div>\n<p class="bars-title">{title}</p>\n<ol class="bars">\n{"".join(rows)}</ol>\n</div>\n'


def whiskers(corpus: CorpusResults, part: str, metric: str) -> tuple[dict[str, tuple[float, float]], str]:
    """Mean and half-width of each bar's whisker, if there are any, and what it shows, in words."""
    if corpus.num_seeds > 1:
        found = {system.name: spread(system.of_seeds(part, metric)) for system in corpus.systems}
        centres = {name: (one.mean, one.deviation) for name, one in found.items()}
        return centres, f", mean ± standard deviation of {corpus.num_seeds} seeds"
    standings = corpus.comparisons[part].standings if corpus.comparisons else {}
    return {name: (one.mean, one.margin) for name, one in standings.items()}, ", 95 % interval" if standings else ""


def place(score: float) -> float:
    """Where a score lies on the bar, in per cent; TER may pass the end."""
    return min(max(100 * score / FULL, 0.0), 100.0)
