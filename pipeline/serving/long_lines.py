"""A line that is too long for a model, in parts that are not: cut behind clauses, else between words, else anywhere."""

import re
from collections.abc import Callable, Iterator, Sequence

CLAUSE_END = re.compile(r"[,;:，；：、–—)\]»”](?=\s)|[，；：、]")
SPACE = re.compile(r"\s+")
CHARACTERS = 16  # of the longest pieces that SentencePiece makes: more than so many times the pieces never fit


def parts_that_fit(line: str, fits: Callable[[str], bool], max_pieces: int) -> list[str]:
    """The line in parts, each of which fits, without the white space between them. Time grows as the line."""
    return list(cut(line.strip(), fits, CHARACTERS * (max_pieces + 1)))


def cut(line: str, fits: Callable[[str], bool], widest: int) -> Iterator[str]:
    """The parts, each as long as can be within `widest` characters: its end is looked for by halving."""
    begin = 0
    while begin < len(line):
        window = line[begin : begin + widest]
        if begin + len(window) == len(line) and fits(window):
            yield window
            return
        end = (
            longest([match.end() for match in CLAUSE_END.finditer(window)], window, fits)
            or longest([match.start() for match in SPACE.finditer(window)], window, fits)
            or longest(range(1, len(window) + 1), window, fits)
            or 1
        )
        yield window[:end].strip()
        begin += end
        begin += len(line[begin : begin + widest]) - len(line[begin : begin + widest].lstrip())


def longest(ends: Sequence[int], window: str, fits: Callable[[str], bool]) -> int:
    """The last of the rising `ends` up to which the window fits; 0 if it fits to none."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if fits(window[: ends[middle]]):
            low = middle + 1
        else:
            high = middle
    return ends[low - 1] if low else 0
