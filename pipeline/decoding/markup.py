"""Tags and placeholders of a sentence: left out of what a network reads, and put back where its attention looks.

So are characters that no piece spells. Nothing is parsed into a tree: malformed HTML comes back with all its tags.
Terms of a glossary are read, and the words that the network writes for them replaced.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, zip_longest
from typing import NamedTuple, TypeAlias

import numpy as np

from ..common.normalisation import UNSPACED
from ..vocabularies.vocabulary import Vocabulary
from .glossary import Glossary, capitalised

# Tags and comments; {name}, {{name}}, ${x}, %{x}, {0, number}; %%, %name%, and %s as printf, Python and Java write it.
MARK = re.compile(
    r"""</?(?P<name>[A-Za-z][\w:.-]*)(?:[\s/](?:[^<>"'] | "[^"<]*" | '[^'<]*')*)?> | <!--(?:(?!--).)*-->
    | \{\{[^{}]{1,64}\}\} | [$%\#]?\{[^{}\s]{0,64}\} | \{\s*\w{1,64}\s*(?:,[^{}]{0,64})?\}
    | %% | %[A-Za-z_]\w{1,64}%(?!\w) | (?<!\d)%(?:\(\w{1,64}\) | \d{1,2}\$)?[-+0\#]{0,3}\d{0,3}(?:\.\d{1,3})?
      (?:hh?|ll?|[jztL])?[diouxXeEfFgGaAcCsSp@]""",
    re.VERBOSE,
)
# What is left out if no piece spells one of its characters: an address, an entity, `<3`, a word of a script that writes
# spaces between words (as far as Cyrillic), a sign with its joiner. Control characters go to the network.
UNIT = re.compile(
    rf"""{MARK.pattern} | (?P<unit> [a-z]{{2,9}}://\S*[\w/] | [\w.+-]{{1,64}}@[\w.-]{{1,64}}\w
    | &\#?\w{{1,31}}; | <\d+>? | [^\W\u0530-\u1dff\u2000-\U0010ffff]+ | [^\s\x00-\x1f\x7f-\x9f][\u200d\ufe0f]*)""",
    re.VERBOSE,
)
VOID = "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905 (a list of names)
DEEPEST = 50  # pairs around each other; what is open inside stands alone
WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])\w)+(?:['’-](?:(?![{UNSPACED}])\w)+)*|\S")
DISTANCE = 4.0  # a weight counts exp(-4 d) times, d the difference of the shares of both sentences that come before
Spans: TypeAlias = Sequence[tuple[int, int]]
Weights: TypeAlias = np.ndarray | None


class Mark(NamedTuple):
    """A pair of tags around a stretch of a sentence or, without `closing`, what stands in place of it or at a place."""

    opening: str
    closing: str
    start: int  # in the sentence
    begin: int  # in the sentence without marks, as it is spelled
    end: int
    before: str  # the characters beside it, a space at the ends
    after: str
    inside: list["Mark"]


def separate(line: str, vocabulary: Vocabulary, glossary: Glossary | None = None) -> tuple[str, list[Mark]]:
    """A sentence without its marks but with its terms, and these in their order; marks that touch are one."""
    missing = frozenset(vocabulary.unwritable(line))
    pattern = UNIT if missing else MARK
    pattern = glossary.pattern(pattern.pattern) if glossary else pattern
    if not pattern.search(line):
        return line, []
    plain, done, levels = "", 0, list[list[Mark]]([[]])  # marks of the sentence, and of each open pair
    opened: list[tuple[str, Mark]] = []
    for match in pattern.finditer(line):
        if missing and match["unit"] and missing.isdisjoint(match["unit"]):
            continue
        plain, done = joined(plain, vocabulary.source_equals.written, line[done : match.start()]), match.start()
        if glossary and match["term"]:
            if target := glossary.target(match["term"], plain):
                place, done = len(plain), match.end()
                plain = joined(plain, vocabulary.source_equals.written, match["term"])
                levels[-1].append(Mark(target, "", match.start(), place, len(plain), " ", " ", []))
            continue
        (start, done), raw, name = match.span(), match[0], (match["name"] or "").lower()
        before, after = plain[-1:] or " ", line[done : done + 1] or " "
        inner = before * (before + after).isspace() if done < len(line) else ""  # of two spaces one is inside a pair
        place = len(plain) - plain.endswith(" ")
        if name and name not in VOID and raw[1] != "/" and raw[-2] != "/" and len(opened) < DEEPEST:
            opened.append((name, Mark(raw + inner, "", start, place, place, before, after, [])))
            levels.append([])
            continue
        depth = next((at for at in reversed(range(len(opened))) if opened[at][0] == name and raw[1] == "/"), None)
        if depth is not None:
            mark, inside = opened[depth][1], flat(opened[depth + 1 :], levels[depth + 1 :])
            del opened[depth:], levels[depth + 1 :]
            if place > mark.begin:
                levels[-1].append(mark._replace(closing=inner + raw, end=place, inside=inside))
                continue
            start, before = mark.start, mark.before  # nothing but marks is inside
        elif not plain.strip() and after in ",:;":
            done += 1  # with the comma after a name
        elif after in ",.;:!?…)":
            plain = plain.rstrip()
        if levels[-1] and not levels[-1][-1].closing and levels[-1][-1].begin == place:
            start, before = levels[-1][-1].start, levels[-1].pop().before
        levels[-1].append(Mark(line[start:done], "", start, place, place, before, line[done : done + 1] or " ", []))
    return joined(plain, vocabulary.source_equals.written, line[done:]), flat(opened, levels)


def joined(plain: str, written: Callable[[str], str], more: str) -> str:
    """A text as it is spelled and what follows, with one space between them if there is any."""
    if more[:1].isspace() and plain and not plain.endswith(" "):
        plain += " "
    return plain + written(more) + " " * (bool(more.strip()) and more[-1].isspace())


def flat(opened: Sequence[tuple[str, Mark]], levels: Sequence[Sequence[Mark]]) -> list[Mark]:
    """The marks inside a pair, whose tags that are never closed stand alone."""
    tags = [[mark._replace(opening=mark.opening.rstrip())] for _, mark in opened]
    return [mark for part in chain.from_iterable(zip_longest(levels, tags, fillvalue=())) for mark in part]


def restore(text: str, marks: Sequence[Mark], weights: Weights) -> str:
    """A translation with the marks of its source: a pair around the words that its words became.

    Shapes: weights (words of `text`, characters of the source as it is spelled), as `aligned` gives them; None of a
        model without attention, whose marks stand at the ends.
    """
    words = [match.span() for match in WORD.finditer(text)]
    if words:
        return written(text, words, marks, weights, 0, len(words))
    return "".join(map(whole, marks))


def whole(mark: Mark) -> str:
    """A mark with all that is inside, around no word."""
    return mark.opening + "".join(map(whole, mark.inside)) + mark.closing


def terms(marks: Sequence[Mark]) -> list[Mark]:
    """The terms among some marks and inside them."""
    own = [mark for mark in marks if mark.begin < mark.end and not mark.closing]
    return own + [term for mark in marks for term in terms(mark.inside)]


def written(text: str, words: Spans, marks: Sequence[Mark], weights: Weights, low: int, high: int) -> str:
    """Some consecutive words of a translation with the marks that stand among them."""
    places: list[tuple[int, int, Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.begin == mark.end):  # stretches first: nothing stands across one
        places.append((*placed(mark, text, words, weights, low, high, [place[:2] for place in places]), mark))
    out, done = "", words[low][0]
    for first, last, mark in sorted(places, key=lambda place: (place[0], place[1], place[2].start)):
        if first < last:
            begin, end = words[first][0], words[last - 1][1]
            inside = written(text, words, mark.inside, weights, first, last) if mark.closing else ""
            initial = not (mark.closing or first) and text[begin].isupper()
            opening = capitalised(mark.opening) if initial else mark.opening
            out, done = f"{out}{text[done:begin]}{opening}{inside}{mark.closing}", end
            continue
        left, right = words[max(first - 1, low)][first > low], words[min(first, high - 1)][first == high]
        between = text[left:right] if low < first < high else " "
        out += text[done:left]
        if first > low and not out.endswith(" "):
            out += space(mark.before, text[left - 1], between)
        out, done = out + whole(mark), right
        if first < high:
            out += space(mark.after, text[right], between)
    return out + text[done : words[high - 1][1]]


def space(source: str, target: str, between: str) -> str:
    """The space beside a mark: as in the source or, if a sign stands there in place of a word, as between the words."""
    if source.isspace():
        return " " if between or target.isalnum() else ""
    return between if source.isalnum() != target.isalnum() else ""


def placed(mark: Mark, text: str, words: Spans, weights: Weights, low: int, high: int, taken: Spans) -> tuple[int, int]:
    """The first word of a pair, among some words, and the one behind its last; twice the place of what stands alone."""
    free = range(low, high)
    if weights is None:
        ends = (low, high) if mark.closing and not taken else (high, high)
        return (low, low) if not mark.closing and 2 * mark.begin < 1 else ends
    if mark.begin < mark.end:
        spelled = WORD.findall(mark.opening.lower())
        for first in range(low, high + 1 - len(spelled)) if spelled and not mark.closing else ():
            last = first + len(spelled)
            if [text[begin:end].lower() for begin, end in words[first:last]] == spelled and all(
                last <= begin or end <= first for begin, end in taken
            ):
                return first, last  # the network wrote the term itself
        gains = 2 * weights[:, mark.begin : mark.end].sum(axis=1) - 1
        total, first, best, run = 0.0, low, -np.inf, (high, high)
        for word in free:
            if any(begin <= word < end for begin, end in taken):
                total = 0.0
                continue
            if total <= 0:
                total, first = 0.0, word
            total += gains[word] - (0 if text[words[word][0]].isalnum() else 0.5)
            if total > best:
                best, run = total, (first, word + 1)
        has_word = any(text[words[word][0]].isalnum() for word in range(*run))
        return run if mark.closing or has_word else (run[0], run[0])  # a term left out stands before the full stop
    totals = [*accumulate(2 * weights[low:high, : mark.begin].sum(axis=1) - 1, initial=0.0)]
    crossed = {word for begin, end in taken for word in range(begin + 1, end)}
    place = max({*free, high} - crossed, key=lambda word: totals[word - low])
    return place, place


def aligned(text: str, heads: np.ndarray, source_ends: Sequence[int], target_ends: Sequence[int]) -> np.ndarray:
    """How much each word of a translation comes from each character of its source; each row sums to 1.

    `heads` is the attention of each piece to each piece and EOS, the ends are those of the pieces in their texts.

    Shapes: heads (T or T + 1, S + 1) -> (words, characters).
    """
    sources, targets = (  # bytes that spell only a part of a character may read longer than it
        np.diff([0, *np.minimum(np.maximum.accumulate(ends), ends[-1])]) for ends in (source_ends, target_ends)
    )
    heads = heads[: len(targets)].copy()
    heads[:, -2] += heads[:, -1]  # EOS belongs to the last piece
    by_character = np.repeat(heads[:, :-1] / np.maximum(sources, 1), sources, axis=1)
    of_characters = np.repeat(by_character, targets, axis=0)
    words = [match.span() for match in WORD.finditer(text)]
    rows = np.stack([of_characters[begin:end].mean(axis=0) for begin, end in words])
    shares = (np.arange(len(rows))[:, None] + 0.5) / len(rows) - (np.arange(rows.shape[1]) + 0.5) / rows.shape[1]
    rows = (rows + 1e-9) * np.exp(-DISTANCE * np.abs(shares))
    return rows / rows.sum(axis=1, keepdims=True)
