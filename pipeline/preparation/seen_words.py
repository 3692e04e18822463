"""The words of a training part, where they are few enough to tell that a sentence is none of its kind."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from pipeline import files
from pipeline.preparation.normalisation import normalised

MOST_WORDS = 20_000  # different ones; a corpus with more of them speaks of anything
RARE = 2e-3  # share of running words that may be expected to be new; where more are, one says nothing of its sentence
WORD = re.compile(r"[^\W\d_]+")  # letters alone: a new number is no new kind of sentence


class SeenWords:
    """What the training part's words tell of a sentence, if they tell anything."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words = frozenset(words)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What stands beside the folder of a vocabulary; nothing, for one that an earlier version built."""
        path = path_beside(folder)
        return cls(files.read_lines(path) if path.exists() else ())

    def new(self, line: str) -> list[str]:
        """The different words of a line that training never saw, in their order; none where they would tell nothing."""
        if not self.words:
            return []
        found: dict[str, str] = {}
        for word in words(line):
            found.setdefault(word.casefold(), word)
        return [word for key, word in found.items() if key not in self.words]


def words(line: str) -> list[str]:
    """The stretches of letters of a line."""
    return WORD.findall(normalised(line))


def path_beside(folder: Path) -> Path:
    """The file of the words, beside the folder of a vocabulary: no training depends on it."""
    return folder.with_name(f"{folder.name}.seen_words.txt")


def write(lines: Iterable[str], folder: Path) -> None:
    """Write the words of the lines beside `folder`, sorted, a line each; none where they would tell nothing."""
    files.write_lines(path_beside(folder), sorted(telling(lines)))


def telling(lines: Iterable[str]) -> Iterable[str]:
    """The different words of the lines, or none: of a corpus of anything, where a new word is nothing new.

    Source: Good 1953: the share of words to come that are new is about that of the words that came once.
    """
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(map(str.casefold, words(line)))
        if len(counts) > MOST_WORDS:
            return ()
    once = sum(number == 1 for number in counts.values())
    return counts if once <= RARE * counts.total() else ()
