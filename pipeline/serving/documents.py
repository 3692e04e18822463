"""A text or HTML in sentences, and put together again with everything that is no sentence as it was."""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from pipeline.serving.markup import Mark, Run, html_pieces, joined, text_pieces
from pipeline.serving.projection import WORD, Place, places, project
from pipeline.serving.sentences import boundaries

Form = Literal["text", "html"]
# Into what a text is split: `across lines` into sentences that a line break does not end; of HTML, `lines` are blocks.
Splitting = Literal["sentences", "across lines", "lines", "nothing"]

FILE_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # only \n ends a line of a file
PUNCTUATION = re.compile(r"[,.;:!?)\]…]")
ORPHANS = " ,;:.!?)…\n\r\t"  # at the beginning of what follows a mark


class MarkedSentence(NamedTuple):
    """A sentence and the marks in it."""

    raw: str  # as it was
    text: str  # as it is translated
    marks: list[Place]
    num_words: int


class Document:
    """The sentences of a text, and what stands between them."""

    def __init__(self, pieces: Sequence[str | MarkedSentence], form: Form) -> None:
        self.pieces, self.form = pieces, form
        self.sentences = [piece.text for piece in pieces if isinstance(piece, MarkedSentence)]

    def join(self, translations: Sequence[str]) -> str:
        """The text with a translation in place of each sentence; one that came back unchanged stays as it was."""
        assert len(translations) == len(self.sentences), "one translation a sentence"
        rest = iter(translations)
        return "".join(
            self.joined(piece, next(rest)) if isinstance(piece, MarkedSentence) else piece for piece in self.pieces
        )

    def joined(self, sentence: MarkedSentence, translation: str) -> str:
        """One translation with the marks of its sentence."""
        if translation == sentence.text:
            return sentence.raw
        escape = partial(html.escape, quote=False) if self.form == "html" else str
        return project(translation, sentence.marks, sentence.num_words, escape)


def split(
    text: str, form: Form, language: str, *, by: Splitting = "sentences", left_alone: frozenset[str] = frozenset()
) -> Document:
    """The sentences of a text in a language; of HTML those of its text, but for what says that it is not translated.

    A line break ends a sentence of a plain text, unless it is split `across lines`; a block element one of HTML. By
    `lines`, nothing else does, and of line breaks only the line feed. By `nothing`, a plain text is one sentence.
    Elements of HTML with a name in `left_alone` stay as they are.
    """
    if form == "html":
        pieces = html_pieces(text, left_alone)
    elif by == "lines":
        pieces = text_pieces(FILE_LINE.findall(text))
    else:
        pieces = text_pieces(text.splitlines(keepends=True) if by == "sentences" else [text])
    spoken = language if by in ("sentences", "across lines") else None
    found: list[str | MarkedSentence] = []
    for piece in pieces:
        found += sentences(piece, spoken) if isinstance(piece, Run) else [piece]
    return Document(found, form)


def sentences(run: Run, language: str | None) -> Iterator[str | MarkedSentence]:
    """The sentences of a run in a language, and the rest of it between them; without a language the run is one."""
    raw, text, positions = run.raw, run.text, [mark.position for mark in run.marks]
    begin = done = 0
    for end in boundaries(text, language) if language else [len(text)]:
        first, last = trimmed(text, begin, end, positions)
        begin = end
        if any(map(str.isalpha, text[first:last])):
            inside = run.marks[bisect_right(positions, first) : bisect_left(positions, last)]
            if run.begins[first] > done:
                yield raw[done : run.begins[first]]
            done = run.ends[last - 1]
            yield sentence(raw[run.begins[first] : done], text[first:last], first, inside)
    if done < len(raw):
        yield raw[done:]


def trimmed(text: str, begin: int, end: int, marks: Sequence[int]) -> tuple[int, int]:
    """The bounds of a sentence without the white space around it, nor punctuation of a mark that it begins with."""
    piece = text[begin:end]
    last = begin + len(piece.rstrip())
    first = begin + len(piece) - len(piece.lstrip())
    at = bisect_left(marks, begin)
    if at < len(marks) and marks[at] <= first < last:
        first = min(last, begin + len(piece) - len(piece.lstrip(ORPHANS)))
    return min(first, last), last


def sentence(raw: str, text: str, begin: int, marks: Sequence[Mark]) -> MarkedSentence:
    """A sentence with marks, whose positions are in its run."""
    own = joined([mark._replace(position=mark.position - begin) for mark in marks])
    found = places(text, own)
    plain = " ".join(without_gaps(text, [mark.position for mark in own if mark.side == "alone"]).split())
    return MarkedSentence(raw, plain, found, len(WORD.findall(text)))


def without_gaps(text: str, marks: Sequence[int]) -> str:
    """The text without the space before a mark that punctuation follows, as in `See {page}.`"""
    kept, done = [], 0
    for position in marks:
        part = text[done:position]
        kept.append(part.rstrip() if PUNCTUATION.match(text, position) else part)
        done = position
    return "".join([*kept, text[done:]])
