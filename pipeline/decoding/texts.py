"""A text in the parts that a network translates, and put together again with all else as it was."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from ..vocabularies.vocabulary import Vocabulary
from .markup import MARK, separate

CLAUSE = re.compile(r"[,;:–—)\]»”]\s|[，；：、]")
SPACE = re.compile(r"\s")
# What stands around the texts of a plural or choice of ICU, and {name}, which is none of it
FRAME = re.compile(r"\{\w*\} | (?P<frame> \{\s*\w+\s*,[^{}]*\{ | \}[^{}]*\{ | \}\s*\})", re.VERBOSE)
ICU = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,")
GOES_ON = re.compile(r"[^\S\r\n]*\S")  # what begins so stands behind a part in the same sentence
ENDS = ".!?… "
T = TypeVar("T")


class SplitLine(NamedTuple):
    """The parts of a text to translate, and what stands before each of them and after the last."""

    parts: list[str]
    gaps: list[str]

    def join(self, translations: Sequence[str]) -> str:
        """The text with a translation in place of each part."""
        return "".join(part for pair in zip(self.gaps, (*self.fitted(translations), ""), strict=True) for part in pair)

    def fitted(self, translations: Sequence[str]) -> list[str]:
        """The translations, but of a part that ends in mid-sentence without the full stop that a network adds."""
        return [
            (text.rstrip(ENDS) or text) if GOES_ON.match(gap) and part[-1].isalnum() else text
            for part, text, gap in zip(self.parts, translations, self.gaps[1:], strict=True)
        ]


def ranked(answers: Sequence[Sequence[T]]) -> list[list[T]]:
    """The best answers to all parts, then the next ones ...; where a part has none any more, its last stays."""
    number = max(map(len, answers), default=1)
    return [[answer[min(rank, len(answer) - 1)] for answer in answers] for rank in range(number)]


def split(units: Iterable[str], vocabulary: Vocabulary, max_pieces: int) -> SplitLine:
    """The parts of a text, given its lines or sentences: none has more than `max_pieces` pieces.

    What has no letter that a piece spells is no part.
    """

    def fits(line: str) -> bool:
        plain, _ = separate(line, vocabulary)
        return len(plain.encode()) < max_pieces or len(vocabulary.encode_source([plain])[0]) <= max_pieces

    parts, gaps = [], [""]
    for span, is_frame in chain.from_iterable(map(spans, units)):
        for part in [span] if is_frame else halves(span, fits):
            core = part.strip()
            if is_frame or not any(map(str.isalpha, separate(core, vocabulary)[0])):
                gaps[-1] += part
                continue
            before, _, after = part.partition(core)
            gaps[-1] += before
            gaps.append(after)
            parts.append(core)
    return SplitLine(parts, gaps)


def spans(text: str) -> Iterator[tuple[str, bool]]:
    """The stretches of a text, and whether a stretch stands around the texts of a plural."""
    begin = 0
    for match in FRAME.finditer(text) if ICU.search(text) else ():
        if match["frame"]:
            yield text[begin : match.start()], False
            yield match[0], True
            begin = match.end()
    yield text[begin:], False


def halves(text: str, fits: Callable[[str], bool]) -> list[str]:
    """A text, halved until each part fits: behind a clause if there is one near the middle, else at a space."""
    if len(text) < 2 or fits(text):
        return [text]
    middle, quarter = len(text) // 2, len(text) // 4
    whole = MARK.sub(lambda match: "\0" * len(match[0]), text)  # no tag is cut
    ends = [match.end() for match in CLAUSE.finditer(whole) if abs(match.end() - middle) <= quarter]
    ends = ends or [match.end() for match in SPACE.finditer(whole) if match.end() < len(text)]
    ends = ends or [end for end in range(middle, len(text)) if whole[end] != "\0"] or [middle]
    cut = min(ends, key=lambda end: abs(end - middle))
    return [*halves(text[:cut], fits), *halves(text[cut:], fits)]
