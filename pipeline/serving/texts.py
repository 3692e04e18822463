"""A text in sentences that fit a model, and put together again with all else as it was."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import sentencex

WINDOW = 2000  # characters that sentencex reads at a time: it is quadratic in the number of opening quotation marks
# Behind an initial or a title no sentence ends: sentencex cuts behind `M.`, `Dr.` and `J.-C.`
ABBREVIATED = re.compile(r"(?:^|\W)(?:[^\W\d_]|[DPM]r|Mmes?|Mlles?|Ste?)\.\s*$")
CLAUSE = re.compile(r"[,;:–—)\]»”]\s|[，；：、]")
SPACE = re.compile(r"\s")


class Text(NamedTuple):
    """The sentences of a text, and what stands before each of them and after the last."""

    sentences: list[str]
    gaps: list[str]

    def join(self, translations: Sequence[str]) -> str:
        """The text with a translation in place of each sentence."""
        return "".join(part for pair in zip(self.gaps, (*translations, ""), strict=True) for part in pair)


def split(text: str, language: str, fits: Callable[[str], bool], *, by_sentence: bool) -> Text:
    """The sentences of a text, or its lines; one that does not fit in parts. What has no letter is no sentence."""
    found, gaps = [], [""]
    for line in text.splitlines(keepends=True) if by_sentence else re.findall(r"[^\n]*\n|[^\n]+", text):
        for sentence in sentences(line, language) if by_sentence else [line]:
            for part in parts(sentence, fits):
                core = part.strip()
                if not any(map(str.isalpha, core)):
                    gaps[-1] += part
                    continue
                before, _, after = part.partition(core)
                gaps[-1] += before
                gaps.append(after)
                found.append(core)
    return Text(found, gaps)


def sentences(text: str, language: str) -> Iterator[str]:
    """The sentences of a line with the white space behind them, by Wikimedia's sentencex; time grows as the line."""
    begin = end = 0
    plain = SPACE.sub(" ", text)  # sentencex panics behind an initial and white space of several bytes
    for sentence in windows(plain, language.partition("-")[0].lower()):
        end += len(sentence)
        if end == len(text) or not ABBREVIATED.search(plain[max(begin, end - 20) : end]):
            yield text[begin:end]
            begin = end


def windows(text: str, language: str) -> Iterator[str]:
    """What sentencex cuts, window after window; the last sentence of a window begins the next one."""
    while len(text) > WINDOW:
        end = text.rfind(" ", WINDOW // 2, WINDOW) + 1 or WINDOW
        *whole, rest = sentencex.segment(language, text[:end])
        if len(rest) > WINDOW // 2:
            whole, rest = [*whole, rest], ""
        yield from whole
        text = rest + text[end:]
    yield from sentencex.segment(language, text) if text else ()


def parts(text: str, fits: Callable[[str], bool]) -> list[str]:
    """A sentence, halved until each part fits: behind a clause if there is one near the middle, else at a space."""
    if len(text) < 2 or fits(text):
        return [text]
    middle, quarter = len(text) // 2, len(text) // 4
    ends = [match.end() for match in CLAUSE.finditer(text) if abs(match.end() - middle) <= quarter]
    ends = ends or [match.end() for match in SPACE.finditer(text) if match.end() < len(text)] or [middle]
    cut = min(ends, key=lambda end: abs(end - middle))
    return [*parts(text[:cut], fits), *parts(text[cut:], fits)]
