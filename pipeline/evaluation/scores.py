"""Scores of translations against references, all by sacrebleu, with its signatures."""

import json
import math
from bisect import bisect_left
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, field_validator
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from pipeline.evaluation.bleu import DIGITS, Lines
from pipeline.evaluation.significance import seeded
from pipeline.params import Section

Metric = Literal["bleu", "chrf", "ter"]
Row = dict[str, str | int | float]


class Scoring(Section):
    """Section `score`: what is measured, and the source lengths between which it is measured apart."""

    metrics: Annotated[list[Metric], Field(min_length=1)]
    tokenize: Literal["13a", "intl", "char", "zh", "none"]  # sacrebleu's, for BLEU
    length_buckets: Annotated[list[PositiveInt], Field(min_length=1)]  # longest source of each bucket, in words
    bootstrap_samples: Annotated[int, Field(ge=40)]  # resamples of a part, for intervals and tests of a difference
    seed: PositiveInt  # of the resamples; sacrebleu takes 0 for none

    @field_validator("metrics")
    @classmethod
    def _each_once(cls, metrics: list[Metric]) -> list[Metric]:
        if len(set(metrics)) < len(metrics):
            raise ValueError(f"must name each metric once, got {metrics}")
        return metrics

    @field_validator("length_buckets")
    @classmethod
    def _ascending(cls, buckets: list[int]) -> list[int]:
        if sorted(set(buckets)) != buckets:
            raise ValueError(f"must be ascending, got {buckets}; expected the longest source of each bucket, in words")
        return buckets


def corpus_scores(hypotheses: Lines, references: Lines, scoring: Scoring) -> dict[str, float]:
    """The score of each metric of `scoring`, without its interval."""
    return {metric: details(hypotheses, references, metric, scoring.tokenize)["score"] for metric in scoring.metrics}


def corpus_details(hypotheses: Lines, references: Lines, scoring: Scoring) -> dict[str, dict[str, Any]]:
    """`details` of each metric of `scoring`, with the interval of the score."""
    return {
        metric: details(hypotheses, references, metric, scoring.tokenize)
        | {"interval": interval(hypotheses, references, metric, scoring)}
        for metric in scoring.metrics
    }


def interval(hypotheses: Lines, references: Lines, metric: Metric, scoring: Scoring) -> list[float] | None:
    """The ends of the 95 % interval of a score over resamples of the sentences; None for 0, and for one sentence.

    As sacreBLEU has it, the mean of the resamples plus and minus half of what the middle 95 % span, here within the
    scale. None also if some resamples only have a chrF of 0 or, for TER, no word in the references: sacreBLEU 2.6 then
    fails on zeros that are no numpy numbers.

    Source: Koehn 2004; sacrebleu's option `--confidence`.
    """
    try:
        with seeded(scoring.seed):
            found = judge(metric, scoring.tokenize).corpus_score(
                hypotheses, [references], n_bootstrap=scoring.bootstrap_samples
            )
    except TypeError:
        if metric == "bleu":
            raise
        return None
    told = json.loads(found.format(width=DIGITS, signature=":", is_json=True))  # the only public way to the interval
    if "confidence_mean" not in told:
        return None
    mean, margin = told["confidence_mean"], told["confidence_var"]
    most = math.inf if metric == "ter" else 100.0
    return [round(max(0.0, mean - margin), DIGITS), round(min(most, mean + margin), DIGITS)]


def judge(metric: Metric, tokenize: str) -> Any:
    """Sacrebleu's object for a metric."""
    return BLEU(tokenize=tokenize, force=True) if metric == "bleu" else {"chrf": CHRF, "ter": TER}[metric]()


def summary(measured: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Of `corpus_details`, the scores alone."""
    return {metric: detail["score"] for metric, detail in measured.items()}


def without_unknown(hypotheses: Lines, references: Lines, scoring: Scoring) -> dict[str, int | float]:
    """The scores of the sentences without unknown words, and their number; no score if there are none.

    Source: the column "No UNK" of Bahdanau et al. 2015, table 1: neither source nor reference has an unknown word, and
        the translation may have none.
    """
    counts: dict[str, int | float] = {"sentences_without_unknown": len(references)}
    if not references:
        return counts
    scores = corpus_scores(hypotheses, references, scoring)
    return {f"{metric}_without_unknown": score for metric, score in scores.items()} | counts


def details(hypotheses: Lines, references: Lines, metric: Metric, tokenize: str = "13a") -> dict[str, Any]:
    """The score by one metric, sacrebleu's signature, and the counts that the score is made of."""
    assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
    measure = judge(metric, tokenize)
    found = measure.corpus_score(hypotheses, [references])  # the references are one set: a list of one list
    common = {"score": round(found.score, DIGITS), "signature": str(measure.get_signature())}
    if metric == "bleu":
        return common | {
            "precisions": [round(precision, DIGITS) for precision in found.precisions],
            "brevity_penalty": round(found.bp, DIGITS),
            "hypothesis_tokens": found.sys_len,
            "reference_tokens": found.ref_len,
        }
    if metric == "ter":
        return common | {"edits": found.num_edits, "reference_words": found.ref_length}
    return common


def scores_by_length(part: str, sources: Lines, hypotheses: Lines, references: Lines, scoring: Scoring) -> list[Row]:
    """One row for each bucket of source lengths that has sentences, the shortest first.

    Units: lengths in words between white space. An empty source counts with the shortest.
    """
    bounds = scoring.length_buckets
    members: list[list[int]] = [[] for _ in range(len(bounds) + 1)]
    for index, source in enumerate(sources):
        members[bisect_left(bounds, len(source.split()))].append(index)
    rows: list[Row] = []
    for lower, upper, chosen in zip([1, *(bound + 1 for bound in bounds)], [*bounds, None], members, strict=True):
        if chosen:
            texts = [hypotheses[i] for i in chosen], [references[i] for i in chosen]
            row: Row = {"part": part, "bucket": f"{lower}-{upper}" if upper else f"{lower}+"}
            row |= {"lower": lower, "upper": upper or "", "sentences": len(chosen)}
            row |= {
                "bleu": details(*texts, "bleu", scoring.tokenize)["score"],
                "chrf": details(*texts, "chrf")["score"],
            }
            rows.append(row)
    return rows
