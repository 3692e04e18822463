"""The scores of a system on all test parts: as a whole, by length, and without unknown words."""

from collections.abc import Mapping
from itertools import compress
from pathlib import Path

from ..common import files
from ..common.system import System
from ..vocabularies.vocabulary import Vocabulary
from . import external, scores
from .settings import Scoring
from .translations import Translated

Metrics = dict[str, dict[str, int | float]]  # test part -> metric -> score


def score(system: System, scoring: Scoring, texts: Mapping[str, Translated], decoded: Path, folder: Path) -> Metrics:
    """The scores of each test part, whose translations are in `decoded`.

    `folder` gets scores.json, which says how they were computed, unmatchable.json, by_length.csv, and a file of scores
    a sentence for each external metric and part.
    """
    pieces, language = Vocabulary.load(system.vocabulary_folder), files.read_json(system.languages)["target_language"]
    metrics: Metrics = {}
    details, unmatchable, by_length = {}, {}, []
    for part, (sources, references, translations) in texts.items():
        section = scoring.of(part, language)
        details[part] = scores.corpus_details(translations, references, section)
        for metric, program in section.external.items():
            details[part][metric], sentences = external.run(metric, program, sources, translations, references)
            files.write_lines(folder / f"{metric}.{part}.txt", map(str, sentences))
        metrics[part] = {metric: detail["score"] for metric, detail in details[part].items()}
        unmatchable[part] = scores.unmatchable(sources, references, pieces.writable)
        metrics[part] |= {scores.UNMATCHABLE: len(unmatchable[part])} if unmatchable[part] else {}
        if pieces.whole_words:
            are_known = pieces.known(sources, references[0])
            limited = list(files.read_lines(decoded / "without_unknown" / f"{part}.txt"))
            known = [list(compress(lines, are_known)) for lines in references]
            metrics[part] |= scores.without_unknown(limited, known, section)
        by_length += scores.scores_by_length(part, sources, translations, references, section)
    files.write_json(folder / "scores.json", details)
    files.write_json(folder / "unmatchable.json", unmatchable)
    files.write_table(folder / "by_length.csv", by_length)
    return metrics
