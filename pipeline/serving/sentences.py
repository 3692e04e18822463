"""The sentences of a text, by Wikimedia's sentencex."""

import re
from collections.abc import Iterator

import sentencex

WINDOW = 2000  # characters that sentencex reads at a time: it is quadratic in the number of opening quotation marks
# Behind an initial or a title no sentence ends: sentencex cuts behind `M.`, `Dr.` and `J.-C.`
ABBREVIATED = re.compile(r"(?:^|\W)(?:[^\W\d_]|[DPM]r|Mmes?|Mlles?|Ste?)\.\s*$")
SPACE = re.compile(r"\s")
LINE = re.compile(r"[^\n]*\n|[^\n]+")


def sentences(text: str, language: str) -> Iterator[str]:
    """The sentences of each line of a text, with the white space behind them; time grows as the text."""
    for line in LINE.findall(text):
        begin = end = 0
        plain = SPACE.sub(" ", line)  # sentencex panics behind an initial and white space of several bytes
        for sentence in windows(plain, language.partition("-")[0].lower()):
            end += len(sentence)
            if end == len(line) or not ABBREVIATED.search(plain[max(begin, end - 20) : end]):
                yield line[begin:end]
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
