"""Rules that drop bad sentence pairs, each with its own name and count."""

import re
from collections.abc import Iterable, Iterator
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
# In the order in which they are tried; an earlier one counts the pair.
RULES = ["invalid_utf8", "control_characters", "empty", "too_long_characters", "too_long_words", "length_ratio"]
RULES += ["source_equals_target", "duplicate"]
SHORT_WORDS = 3  # words that a shorter sentence counts as in a length ratio: `Apparently.` may need a clause
NOTABLE = 0.1  # share of dropped pairs from which on a line says so
SHOWN = 200  # characters of a sentence in the examples


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
        self.dropped = dict.fromkeys(RULES, 0)
        self.examples: dict[str, list[Pair]] = {rule: [] for rule in RULES}

    def drop(self, rule: str, source: str, target: str) -> None:
        """Count a pair that `rule` drops, and keep the first ones as examples, cut if they are long."""
        self.dropped[rule] += 1
        if len(self.examples[rule]) < self.most:
            source, target = (side[:SHOWN] + "…" * (len(side) > SHOWN) for side in (source, target))
            self.examples[rule].append((source, target))

    def counts(self) -> dict[str, object]:
        """The counts and examples to write beside the data; read = kept + dropped."""
        return {name: getattr(self, name) for name in ("read", "kept", "changed", "dropped", "examples")}


def broken_rule(source: str, target: str, cleaning: Cleaning) -> str:
    """The name of the first rule that a normalised pair breaks; empty if it breaks none."""
    if not (source and target):
        return "empty"
    if max(len(source), len(target)) > cleaning.max_characters:
        return "too_long_characters"
    short, long = sorted((num_words(source), num_words(target)))
    if long > cleaning.max_words:
        return "too_long_words"
    if long > cleaning.max_length_ratio * max(short, SHORT_WORDS):
        return "length_ratio"
    return "source_equals_target" if source == target else ""


def clean(raw: Iterable[RawPair], cleaning: Cleaning, tally: Tally) -> Iterator[Pair]:
    """The normalised pairs that no rule drops, each once, in their order; `tally` counts the others.

    Units: 100 MB of memory per million pairs kept, for the 8 bytes that stand for each.
    """
    seen: set[bytes] = set()
    for line in raw:
        tally.read += 1
        try:
            pair = line[0].decode(), line[1].decode()
        except UnicodeDecodeError:
            tally.drop("invalid_utf8", *(side.decode(errors="backslashreplace") for side in line))
            continue
        if any(not side.isprintable() and CONTROL.search(side) for side in pair):  # isprintable is the faster test
            tally.drop("control_characters", *pair)
            continue
        source, target = normalised(pair[0]), normalised(pair[1])
        tally.changed += (source, target) != pair
        key = digest(f"{source}\n{target}")
        if rule := broken_rule(source, target, cleaning) or ("duplicate" if key in seen else ""):
            tally.drop(rule, source, target)
            continue
        seen.add(key)
        tally.kept += 1
        yield source, target
    assert tally.read == tally.kept + sum(tally.dropped.values())


def check_kept(tally: Tally, where: Path) -> None:
    """Check that cleaning kept a pair; a line says what it dropped, if that is much.

    Raises: DataError with the count of each rule.
    """
    counts = ", ".join(f"{rule} {count:,}" for rule, count in tally.dropped.items() if count)
    if not tally.kept:
        raise files.DataError(
            f"{where}: cleaning dropped every pair, got {counts} of {tally.read} read; expected at least one kept"
        )
    if tally.kept <= (1 - NOTABLE) * tally.read:
        progress.say(str(where), f"cleaning drops {tally.read - tally.kept:,} of {tally.read:,} pairs: {counts}")
