"""The sentences of a text, by Wikimedia's sentencex."""

import re
from collections.abc import Iterator

import sentencex

WINDOW = 2000  # characters that sentencex reads at a time: it is quadratic in the number of opening quotation marks
# Behind an initial or a title no sentence ends: sentencex cuts behind `M.`, `Dr.` and `J.-C.`
ABBREVIATED = re.compile(r"(?:^|\W)(?:[^\W\d_]|[DPM]r|Mmes?|Mlles?|Ste?)\.\s*$")
LINE = re.compile(r"[^\n]*\n+|[^\n]+")  # with the empty lines behind it


def sentences(text: str, language: str) -> Iterator[str]:
    """The sentences of each line of a text, with the white space behind them; time grows as the text."""
    for line in LINE.findall(text):
        begin = end = 0  # of a sentence
        while end < len(line):
            stop = len(line) if len(line) <= end + WINDOW else line.rfind(" ", end, end + WINDOW) + 1 or end + WINDOW
            *whole, last = sentencex.segment(language.partition("-")[0].lower(), line[end:stop])
            if stop == len(line) or not whole:
                whole.append(last)  # else the next window begins with it
            for sentence in whole:
                end += len(sentence)
                if end == len(line) or not ABBREVIATED.search(line[max(begin, end - 20) : end]):
                    yield line[begin:end]
                    begin = end
