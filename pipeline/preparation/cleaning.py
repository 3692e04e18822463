"""Rules that drop bad sentence pairs, each with its own name and count."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from itertools import compress
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from ..common import files, work
from ..common.normalisation import normalised
from ..common.params import Node, ParamsError, Section, name_faults
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
    faults = name_faults(of, bitexts, own.fault([OF], ""))
    faults += [fault for each in nodes.values() for fault in Cleaning.merged_faults(each)]
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

    def counts(self) -> dict[str, Any]:
        """The counts and examples to write beside the data; read = kept + dropped."""
        names = ("read", "kept", "changed", "dropped", "counted", "examples")
        return {name: getattr(self, name) for name in names}


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


def check_kept(by_bitext: Mapping[str, Mapping[str, Any]], where: Path) -> None:
    """Check that cleaning kept a pair of some bitext; a line says what it dropped of each, if that is much.

    Raises: DataError with the count of each rule.
    """
    if not any(counts["kept"] for counts in by_bitext.values()):
        total = reduce(work.added, by_bitext.values())
        what = f"cleaning dropped every pair, got {listed(total)} of {total['read']} read"
        raise files.DataError(f"{where}: {what}; expected at least one kept")
    for name, counts in by_bitext.items():
        read, kept = counts["read"], counts["kept"]
        if kept <= (1 - NOTABLE) * read:
            progress.say(str(where / name), f"cleaning drops {read - kept:,} of {read:,} pairs: {listed(counts)}")


def listed(counts: Mapping[str, Any]) -> str:
    """How many pairs each rule has dropped, in words."""
    return ", ".join(f"{rule} {number:,}" for rule, number in counts["dropped"].items() if number)
