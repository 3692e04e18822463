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
    """Data of the page's script: systems, the best first; sentences of each part, all translations and their chrF."""
    systems, parts = corpus.best_first(next(iter(corpus.parts))), []
    for part, (sources, references, _) in corpus.parts.items():
        translations = [system.texts[part].translations for system in systems]
        chrf = [sentence_chrf(texts, references) for texts in translations]
        lines = choose(chrf, report, f"{corpus.name} {part}")
        parts.append(
            {
                "name": part,
                "total": len(sources),
                "lines": lines,
                "sources": [sources[line] for line in lines],
                "references": [references[0][line] for line in lines],
                "translations": [[texts[line] for line in lines] for texts in translations],
                "chrf": [[values[line] for line in lines] for values in chrf],
            }
        )
    return {"systems": [corpus.label(system) for system in systems], "languages": corpus.languages, "parts": parts}


def choose(chrf: list[list[float]], report: Report, purpose: str) -> list[int]:
    """Lines drawn by chance, and the worst and the best of each system, in order."""
    total = len(chrf[0])
    draw = seeding.generator(report.seed, f"sentences {purpose}")
    lines = set(draw.choice(total, size=min(report.sentences, total), replace=False).tolist())
    for scores in chrf:
        ranked = sorted(range(total), key=scores.__getitem__)
        lines |= {*ranked[: report.extremes], *ranked[max(0, total - report.extremes) :]}
    return sorted(lines)
