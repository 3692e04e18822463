"""The report on all systems: one HTML page, which needs no other file and no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..evaluation.curves import NOTHING
from ..evaluation.diagnosis import NO_ATTENTION
from ..evaluation.significance import ALPHA
from . import attention, charts, leaderboard, sentences
from .results import CorpusResults
from .sentences import Report

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["count"] = lambda number: f"{number:,}"
TEMPLATES.filters["percent"] = lambda part, total: f"{100 * part / total:.2f} %" if total else "–"
TEMPLATES.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}


def report(corpora: Sequence[CorpusResults], section: Report) -> str:
    """The page on all corpora."""
    data = [corpus_data(corpus, section) for corpus in corpora]
    return TEMPLATES.get_template("report.html").render(corpora=data, alpha=ALPHA, usual=(NOTHING, NO_ATTENTION))


def corpus_data(corpus: CorpusResults, section: Report) -> dict[str, Any]:
    """Values of the template for a corpus."""
    return {
        "corpus": corpus,
        "verdicts": {part: leaderboard.verdict(corpus, part) for part in corpus.parts},
        "boards": {part: leaderboard.rows(corpus, part) for part in corpus.parts},
        "by_length": charts.by_length(corpus),
        "sentences": sentences.browser(corpus, section),
        "attention": {
            corpus.label(system): [
                attention.sentence(record, f"{part}, line {record['line']:,}")
                for part, records in system.attended.items()
                for record in records
            ]
            for system in corpus.best_first(next(iter(corpus.parts)))
            if any(record["weights"] for records in system.attended.values() for record in records)
        },
        "training": charts.training(corpus),
    }
