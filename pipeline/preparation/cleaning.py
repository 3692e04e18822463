"""Rules that drop bad sentence pairs, each with its own name and count."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..common import files
from ..common.normalisation import normalised, num_words
from ..common.params import Section
from ..common.parts import Pair
from ..console import progress
from .comparison import digest

RawPair = tuple[bytes, bytes]

CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")  # \t \v \f \r are white space, which is folded later
SHORT_WORDS = 3  # words that a shorter sentence counts as in a length ratio: `Apparently.` may need a clause
SAID = 0.1  # share of the pairs that are dropped, from which on a line says so
SHOWN_CHARACTERS = 200  # of a sentence in the examples


class Cleaning(Section):
    """`clean` of params.yaml and of the corpus. A word is a stretch of text between spaces."""

    max_characters: Annotated[int, Field(ge=1)]
    max_words: Annotated[int, Field(ge=1)]
    max_length_ratio: Annotated[float, Field(ge=1)]
    examples: Annotated[int, Field(ge=0)]


class Tally:
    """Counts of pairs read, changed by normalisation, kept, and dropped by each rule, with examples."""

    def __init__(self, cleaning: Cleaning) -> None:
        self.most = cleaning.examples
        self.read = self.changed = self.kept = 0
        self.dropped = dict.fromkeys(ORDER, 0)
        self.examples: dict[str, list[Pair]] = {rule: [] for rule in ORDER}

    def drop(self, rule: str, source: str, target: str) -> None:
        """Count a pair that `rule` drops, and keep the first ones as examples."""
        self.dropped[rule] += 1
        if len(self.examples[rule]) < self.most:
            self.examples[rule].append((shown(source), shown(target)))

    def counts(self) -> dict[str, object]:
        """The counts and examples to write beside the data; read = kept + dropped."""
        return {name: getattr(self, name) for name in ("read", "kept", "changed", "dropped", "examples")}


def control_characters(source: str, target: str, cleaning: Cleaning) -> bool:
    """Whether a side holds a control character (C0, DEL or C1) other than white space."""
    # isprintable is faster, and false for all of them
    return not (source.isprintable() and target.isprintable()) and bool(
        CONTROL.search(source) or CONTROL.search(target)
    )


def empty(source: str, target: str, cleaning: Cleaning) -> bool:
    """Whether a side is empty."""
    return not (source and target)


def too_long_characters(source: str, target: str, cleaning: Cleaning) -> bool:
    """Whether a side has more characters than allowed."""
    return max(len(source), len(target)) > cleaning.max_characters


def too_long_words(source: str, target: str, cleaning: Cleaning) -> bool:
    """Whether a side has more words than allowed."""
    return max(num_words(source), num_words(target)) > cleaning.max_words


def length_ratio(source: str, target: str, cleaning: Cleaning) -> bool:
    """Whether the longer side has too many words for the shorter, which counts as `SHORT_WORDS` at least."""
    short, long = sorted((num_words(source), num_words(target)))
    return long > cleaning.max_length_ratio * max(short, SHORT_WORDS)


def source_equals_target(source: str, target: str, cleaning: Cleaning) -> bool:
    """Whether both sides are the same, so that nothing was translated."""
    return source == target


Rule = Callable[[str, str, Cleaning], bool]
RULES: tuple[Rule, ...] = (empty, too_long_characters, too_long_words, length_ratio, source_equals_target)
ORDER = ("invalid_utf8", "control_characters", *(rule.__name__ for rule in RULES), "duplicate")


def shown(text: str) -> str:
    """`text` short enough for an example."""
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def clean(raw: Iterable[RawPair], cleaning: Cleaning, tally: Tally) -> Iterator[Pair]:
    """The normalised pairs that no rule drops, each once, in their order; `tally` counts the others.

    Units: 100 MB of memory per million pairs kept, for the 8 bytes that stand for each.
    """
    seen: set[bytes] = set()
    for source, target in filter_pairs(raw, cleaning, tally):
        key = digest(f"{source}\n{target}")
        if key in seen:
            tally.drop("duplicate", source, target)
            continue
        seen.add(key)
        tally.kept += 1
        yield source, target
    assert tally.read == tally.kept + sum(tally.dropped.values())


def filter_pairs(raw: Iterable[RawPair], cleaning: Cleaning, tally: Tally) -> Iterator[Pair]:
    """The normalised pairs that pass the rules on single pairs; only duplicates are left for `clean`."""
    for line in raw:
        tally.read += 1
        try:
            pair = line[0].decode(), line[1].decode()
        except UnicodeDecodeError:
            tally.drop("invalid_utf8", *(side.decode(errors="backslashreplace") for side in line))
            continue
        if control_characters(*pair, cleaning):
            tally.drop("control_characters", *pair)
            continue
        source, target = normalised(pair[0]), normalised(pair[1])
        tally.changed += (source, target) != pair
        for rule in RULES:
            if rule(source, target, cleaning):
                tally.drop(rule.__name__, source, target)
                break
        else:
            yield source, target


def check_kept(tally: Tally, where: Path) -> None:
    """Check that cleaning kept a pair; a line says what it dropped, if that is much.

    Raises: DataError with the count of each rule.
    """
    counts = ", ".join(f"{rule} {count:,}" for rule, count in tally.dropped.items() if count)
    if not tally.kept:
        raise files.DataError(
            f"{where}: cleaning dropped every pair, got {counts} of {tally.read} read; expected at least one kept"
        )
    if tally.kept <= (1 - SAID) * tally.read:
        progress.say(str(where), f"cleaning drops {tally.read - tally.kept:,} of {tally.read:,} pairs: {counts}")
