"""What the report asks about the translations of a test part, system by system."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from sacrebleu.metrics.chrf import CHRF

from pipeline.evaluation import differences, frequencies, ngrams
from pipeline.evaluation.differences import MOVED, ONLY, SAME, Difference, Words
from pipeline.evaluation.words import Tokenize

Sentences = list[list[str]]  # each one's words

DIGITS = 1  # of a sentence's chrF


class Lengths(NamedTuple):
    """How long the translations are, in words, beside their references."""

    given: int
    expected: int
    shorter: int  # sentences with fewer words than their reference
    longer: int

    @property
    def ratio(self) -> float:
        """Words of the translations for each word of the references."""
        return self.given / self.expected if self.expected else 0.0


class Order(NamedTuple):
    """Where the words of the references are in the translations, and what else is there."""

    same: int  # in place: in a longest common subsequence
    moved: int  # elsewhere
    missing: int
    extra: int  # words of the translations that the references lack


class Analysis(NamedTuple):
    """One system's translations of one test part."""

    words: Sentences  # of each translation
    chrf: list[float]  # of each translation
    differences: list[Difference]  # of each reference and its translation
    ngrams: list[ngrams.Order]
    frequencies: list[frequencies.Bucket]
    lengths: Lengths
    order: Order

    @property
    def differing(self) -> list[int]:
        """The lines whose translation has other words than the reference, or others in place."""
        return [line for line, difference in enumerate(self.differences) if difference.distance]

    def extremes(self, number: int) -> tuple[list[int], list[int]]:
        """Of the lines that differ, `number` of the lowest chrF and then as many of the highest, none in both.

        Of lines with equal chrF, the first ones.
        """
        lines = sorted(self.differing, key=lambda line: (self.chrf[line], line))
        worst, rest = lines[:number], lines[number:]
        return worst, sorted(rest, key=lambda line: (-self.chrf[line], line))[:number]


def of_parts(
    references: Mapping[str, Sequence[str]],
    translations: Mapping[str, Mapping[str, Sequence[str]]],
    training: Iterable[str],
    tokenize: Tokenize,
    *,
    num_ngrams: int,
    frequency_buckets: Sequence[int],
) -> tuple[dict[str, Sentences], dict[str, dict[str, Analysis]]]:
    """The words of the references of each test part, and the analysis of each system's translations, by its name.

    `training` is the target side of the training part; it is read once.
    """
    expected = {part: list(map(tokenize, lines)) for part, lines in references.items()}
    given = {
        part: {name: list(map(tokenize, lines)) for name, lines in systems.items()}
        for part, systems in translations.items()
    }
    sentences = chain(*expected.values(), *(lines for systems in given.values() for lines in systems.values()))
    seen = frequencies.in_training(training, set(chain.from_iterable(sentences)), tokenize)
    analyses = {
        part: {
            name: analyse(
                lines,
                references[part],
                (given[part][name], expected[part]),
                seen,
                num_ngrams=num_ngrams,
                frequency_buckets=frequency_buckets,
            )
            for name, lines in systems.items()
        }
        for part, systems in translations.items()
    }
    return expected, analyses


def analyse(
    hypotheses: Sequence[str],
    references: Sequence[str],
    words: tuple[Sentences, Sentences],
    seen: Mapping[str, int],
    *,
    num_ngrams: int,
    frequency_buckets: Sequence[int],
) -> Analysis:
    """The analysis of translations beside their references, whose words come with them.

    `seen` counts words in the training part.
    """
    given, expected = words
    found = [differences.compare(*pair) for pair in zip(expected, given, strict=True)]
    return Analysis(
        words=given,
        chrf=sentence_chrf(hypotheses, references),
        differences=found,
        ngrams=ngrams.orders(given, expected, num_ngrams),
        frequencies=frequencies.buckets(given, expected, seen, frequency_buckets),
        lengths=lengths(given, expected),
        order=order(found),
    )


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each sentence by itself."""
    judge = CHRF()
    pairs = zip(hypotheses, references, strict=True)
    return [round(judge.sentence_score(hypothesis, [reference]).score, DIGITS) for hypothesis, reference in pairs]


def lengths(hypotheses: Sequence[Words], references: Sequence[Words]) -> Lengths:
    """How long the translations are beside their references."""
    pairs = [(len(hypothesis), len(reference)) for hypothesis, reference in zip(hypotheses, references, strict=True)]
    return Lengths(
        given=sum(given for given, _ in pairs),
        expected=sum(expected for _, expected in pairs),
        shorter=sum(given < expected for given, expected in pairs),
        longer=sum(given > expected for given, expected in pairs),
    )


def order(found: Sequence[Difference]) -> Order:
    """Where the words of references are in translations, by the differences of the two."""
    kinds = [kind for difference in found for kind in difference.first]
    extra = sum(difference.second.count(ONLY) for difference in found)
    return Order(same=kinds.count(SAME), moved=kinds.count(MOVED), missing=kinds.count(ONLY), extra=extra)
