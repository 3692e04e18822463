"""Pairs of a new corpus that are plainly odd, but that no rule of cleaning drops: how many, with an example."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

from ..common.parts import Pair
from ..corpora.tables import are_names
from ..languages.identification import base, identify, knows
from ..preparation.rules import numbers

# Of Moses's tokeniser or of subwords; of HTML; tags, which are odd where the other side has none.
TOKENISED = re.compile(r"\w [.,](?:\s|$)|@-@|@@(?:\s|$)|^▁")
ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{2,5}|#x[0-9a-fA-F]{2,4});")
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
LEAST = {"look tokenised": 0.1, "have letters of one case": 0.9}  # share of such lines; a few may be ` ...` or OK
NUMBERED, DIFFERING = 20, 0.9  # pairs with numbers, and the share of different ones from which on lines are misaligned
VOTES, PLAIN = 300, 0.5  # lines that say in which language a side is, and the probability from which one does
LOOKED_AT, SURE = 2000, 0.95  # pairs whose own languages are looked at, and the probability that one is the other's
SHOWN_CHARACTERS = 80  # of a line in an example


class Oddities:
    """Counts of odd lines of each side, with the first one as an example."""

    def __init__(self, languages: tuple[str, str]) -> None:
        self.languages, self.total = languages, 0
        self.counts = Counter[tuple[str, str]]()  # (side, what is odd)
        self.examples: dict[tuple[str, str], str] = {}

    def look_at(self, pair: Pair) -> None:
        """Count what is odd in a pair."""
        self.total += 1
        is_header = self.total == 1 and are_names(pair, self.languages)
        tags = [bool(TAG.search(line)) for line in pair]
        for side, line, has_tag, other_has in zip(("source", "target"), pair, tags, reversed(tags), strict=True):
            kinds: dict[str, object] = {
                "look like a name of a column": is_header,
                "look tokenised": TOKENISED.search(line),
                "have entities of HTML": ENTITY.search(line),
                "are UTF-8 read as Windows-1252": is_garbled(line),
                "have letters of one case": line.swapcase() in (line.upper(), line.lower()) and line.swapcase() != line,
                "have tags that the other side lacks": has_tag and not other_has,
            }
            for what in filter(kinds.get, kinds):
                self.counts[side, what] += 1
                self.examples.setdefault((side, what), line[:SHOWN_CHARACTERS])

    def lines(self) -> Iterator[str]:
        """A line for each kind of oddity."""
        for (side, what), number in self.counts.items():
            if number >= LEAST.get(what, 0) * self.total:
                example = self.examples[side, what]
                yield f"{number:,} of {self.total:,} lines of {side} {what}, such as {example!r}; expected plain text"


def is_garbled(line: str) -> bool:
    """Whether a line was once UTF-8, and its bytes were taken for Windows-1252."""
    try:
        return line != line.encode("cp1252").decode()
    except UnicodeError:
        return False


def misaligned(pairs: Sequence[Pair], tags: tuple[str, str]) -> Iterator[str]:
    """A line if most pairs with numbers have different ones."""
    numbered = [pair for pair in pairs if any(map(numbers.NUMBER.search, pair))]
    differing = list(compress(numbered, numbers.broken(numbered, "count", tags)))
    if len(numbered) >= NUMBERED and len(differing) >= DIFFERING * len(numbered):
        example = " | ".join(line[:SHOWN_CHARACTERS] for line in differing[0])
        what = f"{len(differing):,} of {len(numbered):,} pairs with numbers have different ones"
        yield f"{what}, such as {example!r}; expected lines that are translations of each other"


def languages(pairs: Sequence[Pair], tags: tuple[str, str]) -> Iterator[str]:
    """A line for each side in another language than its tag, else one for lines in the other side's language."""
    codes = [other_language([pair[side] for pair in pairs], tag) for side, tag in enumerate(tags)]
    for side, tag, code in zip(("source", "target"), tags, codes, strict=True):
        if code:
            yield f"{side}_language: is {tag!r}, but the text reads like {code!r}; expected the sides in order"
    if any(codes) or not all(map(knows, tags)) or base(tags[0]) == base(tags[1]):
        return
    chosen = pairs[:: max(1, len(pairs) // LOOKED_AT)]
    swapped = [pair for pair in chosen if any(is_other(line, tags, tag) for line, tag in zip(pair, tags, strict=True))]
    if swapped:
        example = " | ".join(line[:SHOWN_CHARACTERS] for line in swapped[0])
        what = "have a line in the other side's language"
        yield f"{len(swapped):,} of {len(chosen):,} pairs looked at {what}, such as {example!r}"


def other_language(texts: Sequence[str], tag: str) -> str | None:
    """The language in which most lines plainly are, if next to none is in that of the tag."""
    chosen = texts[:: max(1, len(texts) // VOTES)]
    votes = Counter(code for code, probability in map(identify, chosen) if probability >= PLAIN)
    [(code, count)] = votes.most_common(1) or [(base(tag), 0)]
    is_plain = 2 * count >= len(chosen) and votes[base(tag)] <= count / 10
    return code if knows(tag) and is_plain and code != base(tag) else None


def is_other(line: str, tags: tuple[str, str], own: str) -> bool:
    """Whether a line is surely in the other one of two languages."""
    code, probability = identify(line, tags)
    return code != own and probability >= SURE
