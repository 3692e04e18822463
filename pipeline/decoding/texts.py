"""A text in the parts that a network translates, and put together again with all else as it was."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ..common.normalisation import normalised
from ..vocabularies.vocabulary import Vocabulary

CLAUSE = re.compile(r"[,;:–—)\]»”]\s|[，；：、]")
SPACE = re.compile(r"\s")
# What is copied whole if one of its characters is: addresses, tags, entities, {name}, %{name}, {{name}}, what stands
# around the texts of a plural of ICU, %s, %(name)d, and words of scripts that write spaces between them (as far as
# Cyrillic). Control characters are no text and go to the network.
UNIT = re.compile(
    r"""[a-z]{2,9}://\S*[\w/] | [\w.+-]{1,64}@[\w.-]{1,64}\w | </?[A-Za-z][^<>]*> | &\#?\w{1,31};
    | [$%#]?\{\{?[^{},]*\}\}? | \{[^{}]*\{ | \}[^{}]*\{ | %(?:\(\w{1,64}\))?[\d.$]{0,9}[A-Za-z](?!\w)
    | [^\W\u0530-\u1dff\u2000-\U0010ffff]+ | [^\s\x00-\x1f\x7f-\x9f]""",
    re.VERBOSE,
)
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

    What has no letter, or characters that no piece spells, is no part.
    """

    def fits(line: str) -> bool:
        return len(line.encode()) < max_pieces or len(vocabulary.encode_source([line])[0]) <= max_pieces

    parts, gaps = [], [""]
    for unit in units:
        begin = unit.find(core := unit.strip())
        for span, is_copied in (
            (unit[:begin], True),
            *spans(core, vocabulary),
            (unit[begin + len(core) :], True),
        ):
            for part in [span] if is_copied else halves(span, fits):
                core = part.strip()
                if is_copied or not any(map(str.isalpha, core)):
                    gaps[-1] += part
                    continue
                before, _, after = part.partition(core)
                gaps[-1] += before
                gaps.append(after)
                parts.append(core)
    return SplitLine(parts, gaps)


def spans(text: str, vocabulary: Vocabulary) -> Iterator[tuple[str, bool]]:
    """The stretches of a text, and whether a stretch is copied: it holds a character that is not known."""
    if not vocabulary.unwritable(text):
        yield text, False
        return
    text, begin = normalised(text), 0
    for match in UNIT.finditer(text):
        if vocabulary.unwritable(match[0]):
            yield text[begin : match.start()], False
            yield match[0], True
            begin = match.end()
    yield text[begin:], False


def halves(text: str, fits: Callable[[str], bool]) -> list[str]:
    """A text, halved until each part fits: behind a clause if there is one near the middle, else at a space."""
    if len(text) < 2 or fits(text):
        return [text]
    middle, quarter = len(text) // 2, len(text) // 4
    ends = [match.end() for match in CLAUSE.finditer(text) if abs(match.end() - middle) <= quarter]
    ends = ends or [match.end() for match in SPACE.finditer(text) if match.end() < len(text)] or [middle]
    cut = min(ends, key=lambda end: abs(end - middle))
    return [*halves(text[:cut], fits), *halves(text[cut:], fits)]
