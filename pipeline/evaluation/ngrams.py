"""N-grams that translations share with the references, those they miss and those they invent."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.evaluation.differences import Words

ORDERS = (1, 2, 3, 4)

Ngram = tuple[str, ...]
Most = list[tuple[Ngram, int]]  # n-grams and how often, the most frequent first


class Order(NamedTuple):
    """What a system did with the n-grams of one n, summed over sentences."""

    matched: int  # each as often as it stands in both the translation and the reference
    given: int  # in the translations
    expected: int  # in the references
    missed: Most  # in references more often than in translations, and by how much
    invented: Most  # the reverse

    @property
    def precision(self) -> float:
        """The share of the translations' n-grams that the references have."""
        return self.matched / self.given if self.given else 0.0


def orders(hypotheses: Iterable[Words], references: Iterable[Words], most: int) -> list[Order]:
    """The n-grams of 1 to 4 words, each counted within its sentence, with the `most` missed and invented of each n."""
    pairs = list(zip(hypotheses, references, strict=True))
    return [order(pairs, size, most) for size in ORDERS]


def order(pairs: Sequence[tuple[Words, Words]], size: int, most: int) -> Order:
    """The n-grams of `size` words in pairs of translation and reference."""
    missed: Counter[Ngram] = Counter()
    invented: Counter[Ngram] = Counter()
    matched = given = expected = 0
    for hypothesis, reference in pairs:
        here, there = counts(hypothesis, size), counts(reference, size)
        matched += (here & there).total()
        given, expected = given + here.total(), expected + there.total()
        missed.update(there - here)
        invented.update(here - there)
    return Order(matched, given, expected, top(missed, most), top(invented, most))


def counts(words: Words, size: int) -> Counter[Ngram]:
    """How often each n-gram of `size` words stands in a sentence."""
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def top(counted: Counter[Ngram], most: int) -> Most:
    """The `most` frequent n-grams; of equally frequent ones, those first in the alphabet."""
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most]
