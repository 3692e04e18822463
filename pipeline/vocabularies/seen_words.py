"""The words of a training part, if they are few enough that an unseen word says something about a sentence."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from ..common import files
from ..common.normalisation import UNSPACED, normalised

FILE = "seen_words.txt"  # in the folder of a vocabulary
MOST_WORDS = 20_000  # different words; a corpus with more is about anything
RARE = 2e-3  # share of new words in new text, at most; if more are new, a new word is usual
# Letters alone: a new number is no new kind of sentence. Where no spaces stand between words, each character is one.
WORD = re.compile(rf"[^\W\d_{UNSPACED}]+|[{UNSPACED}]")


class SeenWords:
    """The training part's words, to find those of a sentence that it lacks; empty if new words are usual."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words = frozenset(words)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The words listed in the folder of a vocabulary; none if new words are usual."""
        path = folder / FILE
        return cls(files.read_lines(path) if path.exists() else ())

    def new(self, line: str) -> list[str]:
        """The different words of a line that training never saw, in their order."""
        if not self.words:
            return []
        spellings: dict[str, str] = {}
        for word in words(line):
            spellings.setdefault(word.casefold(), word)
        return [word for key, word in spellings.items() if key not in self.words]


def words(line: str) -> list[str]:
    """The words of a line."""
    return WORD.findall(normalised(line))


def write(lines: Iterable[str], folder: Path) -> None:
    """Write the words of the lines into `folder`, sorted, one a line; no file if new words are usual."""
    if words := sorted(known_words(lines)):
        files.write_lines(folder / FILE, words)


def known_words(lines: Iterable[str]) -> Iterable[str]:
    """The different words of the lines; none if there are so many that a new word is usual.

    Source: Good 1953: the share of new words in new text is about the share of words that occurred once.
    """
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(map(str.casefold, words(line)))
        if len(counts) > MOST_WORDS:
            return ()
    once = sum(number == 1 for number in counts.values())
    return counts if once <= RARE * counts.total() else ()
