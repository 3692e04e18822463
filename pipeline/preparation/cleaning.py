"""Rules that drop bad sentence pairs, each with its own name and count."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import compress
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from ..common import files
from ..common.normalisation import normalised
from ..common.params import Node, ParamsError, Section, nearest
from ..common.parts import Pair, RawPair
from ..console import progress
from .rules import interface

CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")  # \t \v \f \r are white space, which is folded later
ALWAYS, DUPLICATES = ("invalid_utf8", "control_characters", "empty"), "duplicates"
RULES = [*ALWAYS, *interface.names(), DUPLICATES]  # in the order in which they are tried; an earlier one counts a pair
NOTABLE = 0.1  # share of dropped pairs from which on a line says so
SHOWN = 200  # characters of a sentence in the examples
OF = "of"  # the key of a corpus's section that has keys for one bitext


class BaseCleaning(Section):
    """`clean` of params.yaml and of the corpus: a key for each rule, which 0, false, `off` or {} turns off."""

    duplicates: Literal["off", "pair", "source", "target"]  # what only the first of several pairs may have
    examples: Annotated[int, Field(ge=0)]


if TYPE_CHECKING:
    Cleaning = BaseCleaning
else:
    keys = {name: (interface.find(name).Value, ...) for name in interface.names()}
    Cleaning = create_model("Cleaning", __base__=BaseCleaning, __module__=__name__, **keys)


def sections(page: Node, own: Node, bitexts: Collection[str]) -> dict[str, Cleaning]:
    """The section of each bitext: the page's keys, those of the corpus, and of these the bitext's in `of`.

    Raises: ParamsError listing every fault.
    """
    of = own.value.get(OF, {})
    above = [page, own.only(own.value.keys() - {OF})]
    nodes = {
        name: [*above, *(Node(of[key], f"{own.name}.{OF}.{key}", own.path) for key in of if key == name)]
        for name in bitexts
    }
    faults = [
        own.fault([OF, name], f"no such bitext{nearest(name, bitexts)}") for name in of if name not in bitexts
    ] + [fault for each in nodes.values() for fault in Cleaning.merged_faults(each)]
    if faults:
        raise ParamsError("\n".join(dict.fromkeys(faults)))
    return {name: Cleaning.merged(each) for name, each in nodes.items()}


class Tally:
    """Counts of pairs read, changed by normalisation, and dropped or only counted by each rule, with examples."""

    def __init__(self, most: int) -> None:
        self.most, self.read, self.changed = most, 0, 0  # most: examples of a rule
        self.dropped = dict.fromkeys(RULES, 0)
        self.counted = dict[str, int]()
        self.examples = dict[str, list[Pair]]()

    @property
    def kept(self) -> int:
        """How many pairs no rule has dropped."""
        return self.read - sum(self.dropped.values())

    def note(self, rule: str, pairs: Iterable[Pair], counts: dict[str, int]) -> None:
        """Count pairs that break a rule, in `dropped` or `counted`; the first are examples, cut if they are long."""
        examples = self.examples.setdefault(rule, [])
        for source, target in pairs:
            counts[rule] = counts.get(rule, 0) + 1
            if len(examples) < self.most:
                examples.append((shown(source), shown(target)))

    def add(self, counts: Mapping[str, Any]) -> None:
        """Add the counts of another tally, and its examples after those that are there."""
        self.read, self.changed = self.read + counts["read"], self.changed + counts["changed"]
        for name in ("dropped", "counted"):
            own = getattr(self, name)
            own |= {rule: own.get(rule, 0) + number for rule, number in counts[name].items()}
        for rule, pairs in counts.get("examples", {}).items():
            own = self.examples.setdefault(rule, [])
            own += pairs[: self.most - len(own)]

    def counts(self) -> dict[str, Any]:
        """The counts and examples to write beside the data; read = kept + dropped."""
        names = ("read", "kept", "changed", "dropped", "counted", "examples")
        return {name: getattr(self, name) for name in names if self.most or name != "examples"}


def shown(text: str) -> str:
    """A sentence in an example."""
    return text[:SHOWN] + "…" * (len(text) > SHOWN)


def clean(raw: Iterable[RawPair], cleaning: Cleaning, languages: tuple[str, str], tally: Tally) -> list[Pair]:
    """The normalised pairs that no rule drops but that for duplicates; `tally` counts the others."""
    pairs = list(normalised_pairs(raw, tally))
    for rule in interface.names():
        value = getattr(cleaning, rule)
        if value and value != "off" and pairs:
            broken = interface.find(rule).broken(pairs, value, languages)
            if value == "count":
                tally.note(rule, compress(pairs, broken), tally.counted)
            elif any(broken):
                tally.note(rule, compress(pairs, broken), tally.dropped)
                pairs = list(compress(pairs, map(not_, broken)))
    return pairs


def normalised_pairs(raw: Iterable[RawPair], tally: Tally) -> Iterator[Pair]:
    """The normalised pairs but for those that no text has: not UTF-8, with control characters, with an empty side."""
    for line in raw:
        tally.read += 1
        try:
            pair = line[0].decode(), line[1].decode()
        except UnicodeDecodeError:
            escaped = line[0].decode(errors="backslashreplace"), line[1].decode(errors="backslashreplace")
            tally.note("invalid_utf8", [escaped], tally.dropped)
            continue
        if any(not side.isprintable() and CONTROL.search(side) for side in pair):  # isprintable is the faster test
            tally.note("control_characters", [pair], tally.dropped)
            continue
        both = normalised(pair[0]), normalised(pair[1])
        tally.changed += both != pair
        if both[0] and both[1]:
            yield both
        else:
            tally.note("empty", [both], tally.dropped)


def check_kept(tallies: Mapping[str, Tally], where: Path) -> None:
    """Check that cleaning kept a pair of some bitext; a line says what it dropped of each, if that is much.

    Raises: DataError with the count of each rule.
    """
    total = total_of(tallies)
    if not total.kept:
        what = f"cleaning dropped every pair, got {numbers(total)} of {total.read} read"
        raise files.DataError(f"{where}: {what}; expected at least one kept")
    for name, tally in tallies.items():
        if tally.kept <= (1 - NOTABLE) * tally.read:
            dropped = f"{tally.read - tally.kept:,} of {tally.read:,} pairs: {numbers(tally)}"
            progress.say(str(where / name), f"cleaning drops {dropped}")


def total_of(tallies: Mapping[str, Tally]) -> Tally:
    """The counts of all bitexts, without examples."""
    total = Tally(0)
    for tally in tallies.values():
        total.add(tally.counts())
    return total


def numbers(tally: Tally) -> str:
    """How many pairs each rule has dropped, in words."""
    return ", ".join(f"{rule} {count:,}" for rule, count in tally.dropped.items() if count)
