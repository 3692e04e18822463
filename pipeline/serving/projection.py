"""Marks of a source sentence put into its translation: at the same share of the words.

A tag before the third of six words comes before the second of four. The order of marks never changes, so elements stay
nested. No alignment is asked for: it is right where word order is alike, and off by a word or two elsewhere.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pipeline.serving.markup import Mark, Side

WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+(?:['’-]\w+)*"
)


class Place(NamedTuple):
    """A mark inside a sentence of n words."""

    raw: str
    side: Side
    name: str
    share: float  # of the sentence's words that come before it
    words: int  # before it
    is_spaced: tuple[bool, bool]  # before and after it
    before_word: bool  # it is written at the beginning of a word


def places(text: str, marks: Sequence[Mark]) -> list[Place]:
    """Where marks stand in a sentence; their positions are in its text."""
    words = [match.span() for match in WORD.finditer(text)]
    begins, ends = [begin for begin, _ in words], [end for _, end in words]
    found = []
    for mark in marks:
        # What opens inside of a word opens before it, what closes there closes behind it.
        count = bisect_left(begins, mark.position) if mark.side == "close" else bisect_right(ends, mark.position)
        before, after = text[: mark.position][-1:], text[mark.position :][:1]
        spaced = not before or before.isspace(), not after or after.isspace()
        share = count / len(words) if words else 0.0
        found.append(Place(mark.raw, mark.side, mark.name, share, count, spaced, after.isalnum()))
    return found


def project(translation: str, marks: Sequence[Place], total: int, escape: Callable[[str], str]) -> str:
    """The translation of a sentence of `total` words with its marks in it."""
    words = [match.span() for match in WORD.finditer(translation)]
    out, done = [], 0
    for mark, count in zip(marks, counts(marks, len(words), total), strict=True):
        offset, text = placed(mark, count, words, translation)
        offset = max(done, offset)
        out += [escape(translation[done:offset]), text]
        done = offset
    return "".join([*out, escape(translation[done:])])


def counts(marks: Sequence[Place], num_words: int, total: int) -> list[int]:
    """How many words of the translation come before each mark; around words that were marked, some word stays."""
    found: list[int] = []
    opened: dict[str, list[int]] = {}
    for index, mark in enumerate(marks):
        count = max([round(mark.share * num_words), *found[-1:]])
        if mark.side == "open":
            opened.setdefault(mark.name, []).append(index)
            if mark.words < total:
                count = max(min(count, num_words - 1), *found[-1:], 0)
        elif mark.side == "close":
            begin = opened[mark.name].pop() if opened.get(mark.name) else None
            inside = mark.words - (marks[begin].words if begin is not None else 0)
            if inside:
                count = min(num_words, max(count, 1 + (found[begin] if begin is not None else 0)))
        found.append(count)
    return found


def placed(mark: Place, count: int, words: Sequence[tuple[int, int]], translation: str) -> tuple[int, str]:
    """Where a mark goes that comes behind `count` words, and what is written there."""
    begin = words[count][0] if count < len(words) else words[-1][1] if words else len(translation)
    end = words[count - 1][1] if count else 0
    if mark.side == "open":
        return begin, mark.raw
    if mark.side == "close":
        return end, mark.raw
    left, right = mark.is_spaced
    if count and (left or not mark.before_word):  # behind the word, before its comma
        following = translation[end : end + 1]
        gap = " " if right and following and not following.isspace() and following.isalnum() else ""
        return end, (" " if left else "") + mark.raw + gap
    return begin, mark.raw + (" " if (right or not mark.before_word) and count < len(words) else "")
