"""Where the sentences of a paragraph are, by Wikimedia's sentencex: rules and lists of abbreviations, no model.

sentencex prefers too few cuts to too many. It is kept from what it cannot bear: it is quadratic in the number of
quotation marks, so it reads a window at a time; and it panics behind some white space of several bytes, so it sees
spaces only. Its list for French lacks titles, and its rules initials, so cuts behind them are undone here.
"""

import re
from collections.abc import Iterator

import sentencex

WINDOW = 2000  # characters that sentencex reads at a time: a longer sentence is cut here, and then at a space
SPACES = re.compile(r"\s")
INITIAL = re.compile(r"(?:^|[\s(\[«“\"'’-])[^\W\d_]\.\s*$")  # `J. Dupont`, `J.-C.`
TITLES = {  # and what else a name or a number follows
    "fr": re.compile(r"(?:^|[\s(\[«“\"'’-])(?:mm|mmes?|mlles?|dr|pr|mgr|ste?|av|apr|chap|cf|env|fig|pp?)\.\s*$", re.I),
}


def boundaries(text: str, language: str) -> list[int]:
    """Where the sentences of a text end, rising; the last is its length. White space goes with the sentence before it.

    Time grows as the text.
    """
    found: list[int] = []
    plain = SPACES.sub(" ", text)
    code = language.partition("-")[0].lower()
    for end in cuts(plain, code):
        if found and is_abbreviated(plain[max(0, found[-1] - 20) : found[-1]], code):
            found.pop()
        found.append(end)
    return found


def cuts(text: str, code: str) -> Iterator[int]:
    """The ends that sentencex finds, a window after the other; the last sentence of a window begins the next one."""
    begin = 0
    while begin < len(text):
        window = text[begin : begin + WINDOW]
        lengths = [len(one) for one in segments(window, code)]
        if begin + len(window) < len(text):
            if lengths[-1] <= WINDOW // 2:  # it may go on
                lengths.pop()
            else:  # no window begins less than half a window behind another, so that time grows as the text
                lengths[-1] = (window.rfind(" ", WINDOW // 2) + 1 or len(window)) - sum(lengths[:-1])
        for length in lengths:
            begin += length
            yield begin


def segments(text: str, code: str) -> list[str]:
    """sentencex's sentences, or the text in one piece if it panics."""
    try:
        found: list[str] = sentencex.segment(code, text)
    except BaseException as error:  # its PanicException is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return [text]
    return found if found and "".join(found) == text else [text]


def is_abbreviated(end: str, code: str) -> bool:
    """Whether the end of a sentence is an initial or an abbreviation that another word follows."""
    known = TITLES.get(code)
    return bool(INITIAL.search(end) or (known and known.search(end)))
