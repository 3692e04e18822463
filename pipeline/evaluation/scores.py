"""Scores of translations against references, all by sacrebleu, with its signatures."""

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, field_validator
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from ..common.normalisation import normalised, num_words
from ..common.params import Section
from .bleu import DIGITS, Lines, tokenizer
from .significance import sacrebleu_seed

Metric = Literal["bleu", "chrf", "ter"]
Row = dict[str, str | int | float]

MEASURED: tuple[Metric, ...] = ("bleu", "chrf")  # by length
DICTIONARIES = {"ja-mecab": "MeCab", "ko-mecab": "mecab_ko"}  # tokeniser -> the package that it needs
UNMATCHABLE = "unmatchable_references"


class Scoring(Section):
    """Section `score`: what is measured, and the source lengths between which it is measured apart."""

    metrics: Annotated[list[Metric], Field(min_length=1)]
    tokenize: Literal["auto", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"]  # sacrebleu's, for BLEU
    length_buckets: Annotated[list[PositiveInt], Field(min_length=1)]  # longest source of each bucket, in words
    bootstrap_samples: Annotated[int, Field(ge=40)]  # resamples of a part, for intervals and tests of a difference
    seed: PositiveInt  # of the resamples; sacrebleu takes 0 for none

    @field_validator("metrics", "length_buckets")
    @classmethod
    def _each_once(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError(f"must name each once, got {values}")
        return values

    @field_validator("tokenize")
    @classmethod
    def _installed(cls, tokenize: str) -> str:
        package = DICTIONARIES.get(tokenize)
        if package and not find_spec(package):
            raise ValueError(f"needs the package {package}, got {tokenize!r}; expected auto, or the package installed")
        return tokenize

    @field_validator("length_buckets")
    @classmethod
    def _ascending(cls, buckets: list[int]) -> list[int]:
        if sorted(buckets) != buckets:
            raise ValueError(f"must be ascending, got {buckets}; expected the longest source of each bucket, in words")
        return buckets

    def into(self, language: str) -> Self:
        """The section for translations into a language: `auto` becomes its tokeniser."""
        return self.changed(tokenize=tokenizer(language)) if self.tokenize == "auto" else self


def corpus_scores(hypotheses: Lines, references: Lines, scoring: Scoring) -> dict[str, float]:
    """The score of each metric of `scoring`."""
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

    The mean of the resamples plus and minus half of what the middle 95 % span, within the scale. None also if only some
    resamples have a chrF of 0 or, for TER, no word in the references: sacreBLEU 2.6 then fails.

    Source: Koehn 2004; sacrebleu's option `--confidence`.
    """
    try:
        with sacrebleu_seed(scoring.seed):
            result = judge(metric, scoring.tokenize).corpus_score(
                hypotheses, [references], n_bootstrap=scoring.bootstrap_samples
            )
    except TypeError:
        if metric == "bleu":
            raise
        return None
    values = json.loads(result.format(width=DIGITS, signature=":", is_json=True))  # the only public way to the interval
    if "confidence_mean" not in values:
        return None
    mean, margin = values["confidence_mean"], values["confidence_var"]
    most = math.inf if metric == "ter" else 100.0
    return [round(max(0.0, mean - margin), DIGITS), round(min(most, mean + margin), DIGITS)]


def judge(metric: Metric, tokenize: str) -> Any:
    """Sacrebleu's object for a metric."""
    if metric == "ter":
        asian = tokenize not in ("13a", "intl", "none")
        return TER(normalized=asian, asian_support=asian)
    return BLEU(tokenize=tokenize, force=True) if metric == "bleu" else CHRF()


def details(hypotheses: Lines, references: Lines, metric: Metric, tokenize: str) -> dict[str, Any]:
    """The score by one metric, sacrebleu's signature, and the counts that the score is made of."""
    assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
    measure = judge(metric, tokenize)
    result = measure.corpus_score(hypotheses, [references])  # the references are one set: a list of one list
    common = {"score": round(result.score, DIGITS), "signature": str(measure.get_signature())}
    if metric == "bleu":
        return common | {
            "precisions": [round(precision, DIGITS) for precision in result.precisions],
            "brevity_penalty": round(result.bp, DIGITS),
            "hypothesis_tokens": result.sys_len,
            "reference_tokens": result.ref_len,
        }
    if metric == "ter":
        return common | {"edits": result.num_edits, "reference_words": result.ref_length}
    return common


def sentence_chrf(hypotheses: Lines, references: Lines) -> list[float]:
    """chrF of each sentence by itself, with one decimal."""
    judge = CHRF()
    pairs = zip(hypotheses, references, strict=True)
    return [round(judge.sentence_score(hypothesis, [reference]).score, 1) for hypothesis, reference in pairs]


def without_unknown(hypotheses: Lines, references: Lines, scoring: Scoring) -> dict[str, int | float]:
    """The scores of the sentences without unknown words, and their number; no score if there are none.

    Source: the column "No UNK" of Bahdanau et al. 2015, table 1: neither source nor reference has an unknown word, and
        the translation may have none.
    """
    scores = corpus_scores(hypotheses, references, scoring) if references else {}
    return {f"{metric}_without_unknown": score for metric, score in scores.items()} | {
        "sentences_without_unknown": len(references)
    }


def unmatchable(sources: Lines, references: Lines, writable: Sequence[bool]) -> dict[str, int]:
    """How many references no translation can equal, if any: they are blank, or their vocabulary cannot write them."""
    rows = zip(sources, references, writable, strict=True)
    count = sum(not can or (bool(source.strip()) and not reference.strip()) for source, reference, can in rows)
    return {UNMATCHABLE: count} if count else {}


def caveats(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for every test part with references that no translation can equal."""
    return [
        f"{found[UNMATCHABLE]:,.0f} references of {part} cannot be matched by any translation: they are blank, not in "
        "Unicode NFC, or have characters that are invisible or not in the vocabulary"
        for part, found in scores.items()
        if UNMATCHABLE in found
    ]


def scores_by_length(
    part: str, sources: Sequence[str], hypotheses: Lines, references: Lines, scoring: Scoring
) -> list[Row]:
    """One row for each bucket of source lengths that has sentences, the shortest first.

    Units: lengths in words, see `num_words`. An empty source counts with the shortest.
    """
    bounds = scoring.length_buckets
    members: list[list[int]] = [[] for _ in range(len(bounds) + 1)]
    for index, source in enumerate(sources):
        members[bisect_left(bounds, num_words(normalised(source)))].append(index)
    rows: list[Row] = []
    for lower, upper, chosen in zip([1, *(bound + 1 for bound in bounds)], [*bounds, None], members, strict=True):
        if chosen:
            texts = [hypotheses[i] for i in chosen], [references[i] for i in chosen]
            row: Row = {"part": part, "bucket": f"{lower}-{upper}" if upper else f"{lower}+"}
            row |= {"lower": lower, "upper": upper or "", "sentences": len(chosen)}
            row |= {name: details(*texts, name, scoring.tokenize)["score"] for name in MEASURED}
            rows.append(row)
    return rows
