"""How well words are translated that training saw often, rarely or never."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from pipeline.evaluation.differences import Words
from pipeline.evaluation.words import Tokenize

CACHE = 2**20  # distinct texts between white space whose words are remembered: some 200 MB of them at most


class Bucket(NamedTuple):
    """The words of the test part whose counts in the training part lie between two bounds."""

    name: str  # of the bounds, such as `1-9`
    expected: int  # such words in the references
    given: int  # in the translations
    matched: int  # as often as they stand in both, sentence by sentence

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; none if neither side has such words."""
        total = self.expected + self.given
        return 2 * self.matched / total if total else None


def in_training(lines: Iterable[str], wanted: Set[str], tokenize: Tokenize) -> Counter[str]:
    """How often the `wanted` words stand in the lines of a training part.

    Each text between white space is tokenized once, with a word on each side, which is what makes millions of lines
    quick; the tokenizers of sacrebleu find the same words in it as in its line (`intl` and `zh` keep a mark with its
    word at the very ends of a line, and here they do not).
    """

    @lru_cache(CACHE)
    def of(text: str) -> tuple[str, ...]:
        return tuple(word for word in tokenize(f"a {text} a")[1:-1] if word in wanted)

    return Counter(chain.from_iterable(of(text) for line in lines for text in line.split()))


def buckets(
    hypotheses: Iterable[Words], references: Iterable[Words], seen: Mapping[str, int], bounds: Sequence[int]
) -> list[Bucket]:
    """A bucket for each of the `bounds`, the highest count in it, and one above them: the rarest words first.

    Source: Neubig et al. 2019, compare-mt, its word accuracy by frequency.
    """
    expected, given, matched = ([0] * (len(bounds) + 1) for _ in range(3))
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        here, there = Counter(hypothesis), Counter(reference)
        for counted, sums in ((there, expected), (here, given), (here & there, matched)):
            for word, count in counted.items():
                sums[bisect_left(bounds, seen.get(word, 0))] += count
    return [Bucket(*values) for values in zip(names(bounds), expected, given, matched, strict=True)]


def names(bounds: Sequence[int]) -> list[str]:
    """What the buckets are called: with bounds 0, 9 and 99 `0`, `1-9`, `10-99` and `100+`."""
    lowest = [0, *(bound + 1 for bound in bounds)]
    inside = [str(high) if low == high else f"{low}-{high}" for low, high in zip(lowest, bounds, strict=False)]
    return [*inside, f"{lowest[-1]}+"]
