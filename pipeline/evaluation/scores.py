"""Scores of translations against references, all by sacrebleu, with its signatures."""

import json
import math
import os
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from ..common.normalisation import normalised, num_words
from .bleu import DIGITS, Lines
from .settings import Metric, Scoring
from .significance import SEED

References = Sequence[Lines]  # one or more sets, each with a line for each sentence
Record = dict[str, str | int | float]

ASIAN = ("zh", "char", "ja-mecab", "ko-mecab")  # tokenisers of languages whose characters TER takes apart
UNMATCHABLE = "unmatchable_references"


def corpus_details(hypotheses: Lines, references: References, scoring: Scoring) -> dict[str, dict[str, Any]]:
    """`details` of each metric of `scoring`, with the interval of the score."""
    return {
        metric: details(hypotheses, references, metric, scoring)
        | {"interval": interval(hypotheses, references, metric, scoring)}
        for metric in scoring.metrics
    }


def interval(hypotheses: Lines, references: References, metric: Metric, scoring: Scoring) -> list[float] | None:
    """The ends of the 95 % interval of a score over resamples of the sentences; None for 0, and for one sentence.

    The mean of the resamples plus and minus half of what the middle 95 % span, within the scale. None also if only some
    resamples have a chrF of 0 or, for TER, no word in the references: sacreBLEU 2.6 then fails.

    Source: Koehn 2004; sacrebleu's option `--confidence`.
    """
    os.environ[SEED] = str(scoring.seed)
    try:
        result = measure_of(metric, scoring).corpus_score(hypotheses, references, n_bootstrap=scoring.bootstrap_samples)
    except TypeError:
        if metric in ("bleu", "spbleu"):
            raise
        return None
    values = json.loads(result.format(width=DIGITS, signature=":", is_json=True))  # the only public way to the interval
    if "confidence_mean" not in values:
        return None
    mean, margin = values["confidence_mean"], values["confidence_var"]
    most = math.inf if metric == "ter" else 100.0
    return [round(max(0.0, mean - margin), DIGITS), round(min(most, mean + margin), DIGITS)]


def measure_of(metric: Metric, scoring: Scoring, references: References | None = None) -> Any:
    """Sacrebleu's object for a metric; `scoring` is that of one part."""
    match metric:
        case "ter":
            asian = scoring.tokenize in ASIAN
            return TER(normalized=asian, asian_support=asian, references=references)
        case "chrf" | "chrfpp":
            return CHRF(word_order=2 * (metric == "chrfpp"), references=references)
    tokenize = "flores200" if metric == "spbleu" else str(scoring.tokenize)
    return BLEU(tokenize=tokenize, force=True, references=references)


def details(hypotheses: Lines, references: References, metric: Metric, scoring: Scoring) -> dict[str, Any]:
    """The score by one metric, sacrebleu's signature, and the counts that the score is made of."""
    assert all(len(hypotheses) == len(lines) > 0 for lines in references), len(hypotheses)
    measure = measure_of(metric, scoring)
    result = measure.corpus_score(hypotheses, references)
    counts = {"score": round(result.score, DIGITS), "signature": str(measure.get_signature())}
    if metric in ("bleu", "spbleu"):
        counts["precisions"] = [round(precision, DIGITS) for precision in result.precisions]
        counts |= {"brevity_penalty": round(result.bp, DIGITS), "hypothesis_tokens": result.sys_len}
        counts["reference_tokens"] = result.ref_len
    elif metric == "ter":
        counts |= {"edits": result.num_edits, "reference_words": result.ref_length}
    return counts


def sentence_chrf(hypotheses: Lines, references: References) -> list[float]:
    """chrF of each sentence by itself, with one decimal."""
    chrf, rows = CHRF(), zip(hypotheses, *references, strict=True)
    return [round(chrf.sentence_score(hypothesis, given).score, 1) for hypothesis, *given in rows]


def without_unknown(hypotheses: Lines, references: References, scoring: Scoring) -> dict[str, int | float]:
    """The scores of the sentences without unknown words, and their number; no score if there are none.

    Source: the column "No UNK" of Bahdanau et al. 2015, table 1: neither source nor reference has an unknown word, and
        the translation may have none.
    """
    scores: dict[str, int | float] = {
        f"{metric}_without_unknown": details(hypotheses, references, metric, scoring)["score"]
        for metric in (scoring.metrics if hypotheses else ())
    }
    return scores | {"sentences_without_unknown": len(hypotheses)}


def unmatchable(sources: Lines, references: References, writable: Callable[[Lines], Sequence[bool]]) -> dict[int, str]:
    """Line -> the reason, for each sentence of which no translation can equal a reference."""
    sides = [zip(lines, writable(lines), strict=True) for lines in references]
    return {
        line: fault(given[0][0], writable)
        for line, (source, *given) in enumerate(zip(sources, *sides, strict=True), 1)
        if not any(can and (reference.strip() or not source.strip()) for reference, can in given)
    }


def fault(reference: str, writable: Callable[[Lines], Sequence[bool]]) -> str:
    """Why no translation can equal a reference."""
    words = reference.split()
    if not words:
        return "blank"
    if unicodedata.normalize("NFC", reference) != reference:
        return "not in Unicode NFC"
    if normalised(reference) != " ".join(words):
        return "invisible characters"
    unknown = [word for word, can in zip(words, writable(words), strict=True) if not can]
    return f"not in the vocabulary: {' '.join(unknown)}"


def caveats(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for every test part with references that no translation can equal."""
    counts = {part: metrics[UNMATCHABLE] for part, metrics in scores.items() if UNMATCHABLE in metrics}
    fault = "cannot be matched by any translation: blank, or with characters invisible, not in NFC or the vocabulary"
    return [f"{count:,.0f} references of {part} {fault}" for part, count in counts.items()]


def scores_by_length(
    part: str, sources: Sequence[str], hypotheses: Lines, references: References, scoring: Scoring
) -> list[Record]:
    """One row for each bucket of source lengths that has sentences, the shortest first.

    Units: lengths in words, see `num_words`. An empty source counts with the shortest.
    """
    bounds = scoring.length_buckets
    buckets = [bisect_left(bounds, num_words(normalised(source))) for source in sources]
    rows: list[Record] = []
    for bucket in sorted(set(buckets)):
        lower, upper = [0, *bounds][bucket] + 1, bounds[bucket] if bucket < len(bounds) else ""
        chosen, *chosen_references = (
            [line for line, own in zip(lines, buckets, strict=True) if own == bucket]
            for lines in (hypotheses, *references)
        )
        row: Record = {"part": part, "bucket": f"{lower}-{upper}" if upper else f"{lower}+"}
        row |= {"lower": lower, "upper": upper, "sentences": len(chosen)}
        row["bleu"] = details(chosen, chosen_references, "bleu", scoring)["score"]
        row["chrf"] = details(chosen, chosen_references, "chrf", scoring)["score"]
        rows.append(row)
    return rows
