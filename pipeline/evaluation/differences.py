"""Word by word, where two sentences differ: what only one of them has, and what both have in another place."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

Words = Sequence[str]

SAME, MOVED, ONLY = "same", "moved", "only"  # kinds of words; compare.js knows them by these names


class Run(NamedTuple):
    """Words of one kind in a row."""

    kind: str
    side: int  # 0: of both sentences or of the first, 1: of the second
    words: list[int]  # their places in the sentence


class Difference(NamedTuple):
    """The kind of each word of two sentences."""

    first: list[str]
    second: list[str]

    @property
    def distance(self) -> float:
        """The share of the words of both that are not the same in both: 0 for equal sentences, 1 for nothing shared."""
        kinds = [*self.first, *self.second]
        return 1 - kinds.count(SAME) / len(kinds) if kinds else 0.0

    @property
    def runs(self) -> list[Run]:
        """One sentence merged from both: the words in order, where they differ those of the first before the second."""
        places = [(kind, side, place) for kind, side, place in self.merged()]
        return [
            Run(kind, side, [place for *_, place in group])
            for (kind, side), group in groupby(places, lambda item: item[:2])
        ]

    def merged(self) -> Iterator[tuple[str, int, int]]:
        """Kind, side and place of each word of the merged sentence."""
        row = column = 0
        while row < len(self.first) or column < len(self.second):
            while row < len(self.first) and self.first[row] != SAME:
                yield self.first[row], 0, row
                row += 1
            while column < len(self.second) and self.second[column] != SAME:
                yield self.second[column], 1, column
                column += 1
            if row < len(self.first):  # as many words of the second are the same
                yield SAME, 0, row
                row, column = row + 1, column + 1


def compare(first: Words, second: Words) -> Difference:
    """What two sentences share: a longest common subsequence is the same; what else both have has moved.

    Of several such subsequences, the one that takes words of the first sentence as early as it can.
    """
    pairs = common(first, second)
    kinds = [ONLY] * len(first), [ONLY] * len(second)
    for row, column in pairs:
        kinds[0][row] = kinds[1][column] = SAME
    left = [
        Counter(w for w, kind in zip(words, k, strict=True) if kind == ONLY)
        for words, k in zip((first, second), kinds, strict=True)
    ]
    for words, kind in zip((first, second), kinds, strict=True):
        moved = left[0] & left[1]
        for place, word in enumerate(words):
            if kind[place] == ONLY and moved[word]:
                kind[place] = MOVED
                moved[word] -= 1
    return Difference(*kinds)


def common(first: Words, second: Words) -> list[tuple[int, int]]:
    """Places of a longest common subsequence in both."""
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]  # of what is common from there on
    for row in range(len(first) - 1, -1, -1):
        here, below = lengths[row], lengths[row + 1]
        for column in range(len(second) - 1, -1, -1):
            if first[row] == second[column]:
                here[column] = below[column + 1] + 1
            else:
                here[column] = max(below[column], here[column + 1])
    pairs = []
    row = column = 0
    while row < len(first) and column < len(second):
        if first[row] == second[column]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif lengths[row + 1][column] >= lengths[row][column + 1]:
            row += 1
        else:
            column += 1
    return pairs
