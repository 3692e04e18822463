"""Findings on a system's translations: each in a line, with its number and the usual cure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, Self

from ..common.normalisation import UNSPACED, normalised
from ..common.parts import Pair, read_bitexts
from ..compute import ids
from .curves import NOTHING

# Shares of lines. Good systems and people have 0 to 1 %, so that several of a hundred are no chance.
LOOPS = 0.02
COPIES = 0.05  # names and numbers are rightly copied
EMPTY = 0.01
NUMBERS = 0.05  # of the lines with numbers
SAME = 0.3  # of the translations that another source has too: 0 to 0.1 where sources differ
MATCHED = 0.25  # of the references' words: 0.8 and more in good systems, 0.1 by chance
SHORT, LONG = 0.85, 1.2  # characters of all translations over those of all references
UNKNOWN = 0.02  # of the source's pieces
PIECES = 3.5  # of a word: 1.1 to 2 are usual, 4 to 6 are letters
UNSEEN = 0.25  # of the running words: 2 to 10 % in text of the same kind
LENGTHS = 1.5  # mean length of test sources over that of training, or the inverse: 0.9 to 1.1 in text of the same kind
ATTENDED, UNATTENDED = 0.1, 0.1  # least sum of a word's attention weights, whose mean is 1; share of words below it
ENOUGH = 20  # words or lines from which a share says something
FEW = 8  # words from which so low a share of them does
MOST_PAIRS = 200_000  # of the training part that are compared

# Letters alone: a new number is no new word. Where no spaces stand between words, each character is one.
WORD = re.compile(rf"[^\W\d_{UNSPACED}]+|[{UNSPACED}]")
NO_ATTENTION = "none to look at"
NUMBER = re.compile(r"\d+(?:[.,'’\s]\d+)*")  # with the separators of thousands and decimals
LOOP = re.compile(r"(\S.{0,39}?)(?:\s*\1){3}")  # four times the same


class TrainingText(NamedTuple):
    """Words and length of the training part, to compare a test part with."""

    source_words: frozenset[str]
    target_words: frozenset[str]
    lengths: list[float]  # mean characters of a source, by bitext

    @classmethod
    def read(cls, split: Path) -> Self:
        """The training part in `split`: the first pairs of each shard."""
        shards = read_bitexts(split)
        each = max(1, MOST_PAIRS // len(shards))
        bitexts: dict[str, list[Pair]] = {}
        for shard in filter(attrgetter("pairs"), shards):
            bitexts.setdefault(shard.bitext, []).extend(islice(shard.read(split), each))
        return cls.of(*bitexts.values())

    @classmethod
    def of(cls, *bitexts: Sequence[Pair]) -> Self:
        """Some pairs of each bitext."""
        sources, targets = zip(*chain.from_iterable(bitexts), strict=True)
        return cls(
            frozenset(chain.from_iterable(map(words, sources))),
            frozenset(chain.from_iterable(map(words, targets))),
            [fmean(len(source) for source, _ in pairs) for pairs in bitexts],
        )


def words(line: str) -> list[str]:
    """The words of a line."""
    return WORD.findall(normalised(line))


def of_part(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    pieces: Sequence[Sequence[int]],
    training: TrainingText | None,
) -> list[str]:
    """The findings on a test part, `pieces` being those of its sources; one line if all is usual.

    Without `training`, as of a system that starts from a package, nobody knows which words and lengths it has seen.
    """
    findings = (*of_translations(sources, references, translations), *of_sources(sources, pieces, training))
    return [*filter(None, findings)] or [NOTHING]


def of_translations(sources: Sequence[str], references: Sequence[str], translations: Sequence[str]) -> Iterator[str]:
    """Findings on translations beside sources and references; "" where all is usual."""
    rows = list(zip(sources, references, translations, strict=True))
    looping = [has_loop(text) and not has_loop(source) for source, _, text in rows]
    cure = "more text or updates, or `decode.no_repeat_ngram_size` 4"
    yield share(looping, LOOPS, "repetition: {} of the translations loop", cure)
    copied = [alike(source, text) and not alike(source, reference) for source, reference, text in rows]
    cure = "look for pairs in the training text whose sides are the same language"
    yield share(copied, COPIES, "copies: {} of the translations are their source", cure)
    empty = [bool(source.strip() and not text.strip()) for source, _, text in rows]
    cure = "more updates or `length_penalty`, look for empty targets"
    yield share(empty, EMPTY, "empty: {} of the translations are empty", cure)
    counted = (map(numbers, row) for row in rows)
    changed = [text != source for source, reference, text in counted if source and source == reference]
    cure = "set `split_digits` of the vocabulary, or more text with numbers"
    yield share(changed, NUMBERS, "numbers: {} of the lines with numbers get others", cure)
    ratio = sum(map(len, translations)) / max(1, sum(map(len, references)))
    if len(rows) >= ENOUGH and not SHORT <= ratio <= LONG:
        cure = f"{'raise' if ratio < SHORT else 'lower'} `length_penalty`, more text or updates"
        yield f"length: translations have {ratio:.2f} of the references' characters; {cure}"
    expected = [Counter(words(reference)) for _, reference, _ in rows]
    matched = sum((bag & Counter(words(text))).total() for bag, text in zip(expected, translations, strict=True))
    number = sum(bag.total() for bag in expected)
    if number >= FEW and matched / number < MATCHED:
        cure = "more text, 10,000 pairs or so, or more updates; see the other findings"
        yield f"references: {100 * matched / number:.0f} % of their words are in the translations; {cure}"
    different = dict(zip(map(normalised, sources), translations, strict=True))
    counts = Counter(different.values())
    same = [counts[text] > 1 for text in different.values()]
    cure = "more updates; are source and target lines parallel?"
    yield share(same, SAME, "source ignored: {} of the translations are those of other sources too", cure)


def of_sources(sources: Sequence[str], pieces: Sequence[Sequence[int]], training: TrainingText | None) -> Iterator[str]:
    """Findings on sources unlike those of training; "" where all is usual."""
    running = [*chain.from_iterable(map(words, sources))]
    if training and (finding := unseen_words(running, training)):
        yield finding
    else:  # else these would follow from that
        unknown = [piece == ids.UNK for line in pieces for piece in line]
        yield share(
            unknown, UNKNOWN, "unknown: {} of the source's pieces", "more `character_coverage`, or `byte_fallback`"
        )
        if len(running) >= ENOUGH and (each := len(unknown) / len(running)) >= PIECES:
            yield f"vocabulary: a word takes {each:.1f} pieces; take a larger `size`"
    if training and len(sources) >= ENOUGH:
        length = fmean(map(len, sources))
        ratio = length / min(training.lengths, key=lambda known: abs(known - length))
        if not 1 / LENGTHS <= ratio <= LENGTHS:
            yield f"length: sources are {ratio:.2f} times as long as in training; train on text like this part"


def unseen_words(running: Sequence[str], training: TrainingText) -> str:
    """The finding if training lacks many of a part's source words; "" if it is usual."""
    unseen = [word for word in running if word not in training.source_words]
    cure = "train on more text, or on text like this part"
    if mostly(unseen, training.target_words):
        cure = "are source and target swapped? training has them as targets"
    elif mostly([word.casefold() for word in unseen], {word.casefold() for word in training.source_words}):
        cure = "write them in upper and lower case as training does"
    if len(running) < ENOUGH or (part := len(unseen) / len(running)) < UNSEEN:
        return ""
    return f"vocabulary: {100 * part:.0f} % of the source's words are not in the training part; {cure}"


def of_attention(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """The finding on source words that no step of a translation attends to, given records of stage `attend`."""
    if not (sums := [total for record in records for total in attended(record)]):
        return [NO_ATTENTION]
    cure, ignored = "more updates; long sources may need more layers or text", [total < ATTENDED for total in sums]
    return [share(ignored, UNATTENDED, "attention: nothing attends to {} of the words", cure) or NOTHING]


def attended(record: Mapping[str, Any]) -> list[float]:
    """The sum of the weights of each source word, in the mean of all layers and heads that look at the source."""
    heads = [
        head
        for name, matrices in record["weights"].items()
        if not name.startswith(("encoder", "decoder"))
        for head in matrices
    ]
    if not heads:
        return []
    sums: list[float] = []
    for column, piece in enumerate(record["source"][:-1]):
        if piece.startswith("▁") or not sums:
            sums.append(0.0)
        sums[-1] += sum(row[column] for head in heads for row in head) / len(heads)
    return sums


def share(marks: Sequence[bool], limit: float, text: str, cure: str) -> str:
    """The finding if enough of the marks are set, with their share in place of {}."""
    part = sum(marks) / max(1, len(marks))
    return f"{text.format(f'{100 * part:.0f} %')}; {cure}" if len(marks) >= ENOUGH and part >= limit else ""


def numbers(text: str) -> list[str]:
    """The digits of each number, whatever separates thousands and decimals, in order of size."""
    return sorted("".join(str(int(digit)) for digit in number if digit.isdecimal()) for number in NUMBER.findall(text))


def has_loop(text: str) -> bool:
    """Whether something with a letter stands there four times in a row."""
    return any(any(map(str.isalpha, match[1])) for match in LOOP.finditer(text))


def alike(first: str, second: str) -> bool:
    """Whether two lines with a letter are the same, apart from case."""
    return any(map(str.isalpha, first)) and normalised(first).casefold() == normalised(second).casefold()


def mostly(tested: Sequence[str], known: frozenset[str] | set[str]) -> bool:
    """Whether more than half of the words are known."""
    return sum(word in known for word in tested) > len(tested) / 2
