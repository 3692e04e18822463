"""The sentences that a reader browses: worst, best, and any two systems side by side."""

from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from ..common import seeding
from ..common.params import Section
from ..evaluation.scores import sentence_chrf
from .results import CorpusResults


class Report(Section):
    """Section `report`: how many sentences of each test part the page holds, and the seed of their draw."""

    sentences: PositiveInt  # drawn by chance from each test part, for a reader to browse
    extremes: NonNegativeInt  # worst and best of each system, beside those drawn
    seed: PositiveInt


def browser(corpus: CorpusResults, report: Report) -> dict[str, Any]:
    """What the page's script shows: systems, the best first, and the sentences of each part."""
    systems = corpus.best_first(next(iter(corpus.parts)))
    return {
        "systems": [corpus.label(system) for system in systems],
        "languages": corpus.languages,
        "parts": [part_data(corpus, part, report) for part in corpus.parts],
    }


def part_data(corpus: CorpusResults, part: str, report: Report) -> dict[str, Any]:
    """Sentences of one test part, with every system's translation and its chrF."""
    texts, systems = corpus.parts[part], corpus.best_first(next(iter(corpus.parts)))
    translations = [system.texts[part].translations for system in systems]
    chrf = [sentence_chrf(one, texts.references) for one in translations]
    lines = choose(chrf, report, f"{corpus.name} {part}")
    return {
        "name": part,
        "total": len(texts.sources),
        "lines": lines,
        "sources": [texts.sources[line] for line in lines],
        "references": [texts.references[0][line] for line in lines],
        "translations": [[one[line] for line in lines] for one in translations],
        "chrf": [[one[line] for line in lines] for one in chrf],
    }


def choose(chrf: list[list[float]], report: Report, purpose: str) -> list[int]:
    """Some lines drawn by chance, and the worst and the best of each system, in order."""
    total = len(chrf[0])
    draw = seeding.generator(report.seed, f"sentences {purpose}")
    lines = set(draw.choice(total, size=min(report.sentences, total), replace=False).tolist())
    for scores in chrf:
        ranked = sorted(range(total), key=scores.__getitem__)
        lines |= {*ranked[: report.extremes], *ranked[max(0, total - report.extremes) :]}
    return sorted(lines)
