"""Leaks: sentences that two parts of a corpus share. They are counted, and dropped from the training side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..common import files
from ..common.parts import Pair
from .comparison import folded, sentences
from .splits import Splitting

LEVELS = ("exact", "near")
# Counted of two parts: pairs that share their source or target, exactly or only nearly, and dropped pairs.
COUNTS = (*(f"{level}_{side}" for level in LEVELS for side in ("source", "target")), "dropped")
Matches = dict[str, frozenset[str]]  # level -> the held-out parts that have a text; `near` without those of `exact`


class HeldOut:
    """The texts of both sides of the parts that are held out from another one.

    A text leaks if a held-out part has the same one on the same side. `exact`: folded, the two are equal. `near`:
    they have the same letters and digits, or the held-out text is one or several whole sentences of the other one.
    Words in the middle of a sentence are no leak, however many: languages repeat themselves.

    Units: memory holds two forms of each text of the held-out parts, none of the part that is read.
    """

    def __init__(self, held_out: Mapping[str, Sequence[Pair]]) -> None:
        self.sources, self.targets = HeldOutIndex(held_out, side=0), HeldOutIndex(held_out, side=1)


class Leaks:
    """Counts of the pairs of a part that leak into others, and of those that are dropped for it."""

    def __init__(self, splitting: Splitting, parts: Iterable[str]) -> None:
        self.policies = {"exact": splitting.leakage, "near": splitting.near_leakage}
        self.overlaps = {name: dict.fromkeys(COUNTS, 0) for name in parts}
        self.dropped = dict.fromkeys(LEVELS, 0)

    def decontaminate(self, pairs: Iterable[Pair], held_out: HeldOut) -> Iterator[Pair]:
        """The pairs that share neither their source nor their target with a part held out from theirs.

        All pairs if the section does not drop. A pair that leaks into two parts counts for both, but once in
        `dropped`: as `exact` if any leak is exact.
        """
        for pair in pairs:
            source, target = held_out.sources.matches(pair[0]), held_out.targets.matches(pair[1])
            if source is NO_MATCH and target is NO_MATCH:
                yield pair
                continue
            leaks = {level: source[level] | target[level] for level in LEVELS}
            drops = [level for level in LEVELS if leaks[level] and self.policies[level] == "drop"]
            for name in leaks["exact"] | leaks["near"]:
                for level in LEVELS:
                    self.overlaps[name][f"{level}_source"] += name in source[level]
                    self.overlaps[name][f"{level}_target"] += name in target[level]
                self.overlaps[name]["dropped"] += any(name in leaks[level] for level in drops)
            if drops:
                self.dropped[drops[0]] += 1
            else:
                yield pair

    def counts(self) -> dict[str, Any]:
        """All the counts."""
        return {"dropped": self.dropped, "leakage": self.overlaps}


def check(
    leaks: Mapping[str, Mapping[str, Any]], pairs: Mapping[str, int], splitting: Splitting, where: object
) -> None:
    """Check that each decontaminated part still has a pair, and that there is no leakage that should fail.

    Raises: DataError with the counts.
    """
    for part, counts in leaks.items():
        if not pairs[part]:
            lost = f"{sum(counts['dropped'].values())} with a sentence of {' or '.join(counts['leakage'])}"
            raise files.DataError(f"{where}: no pair is left in {part}, got {lost}; expected others too")
    policies = {"exact": splitting.leakage, "near": splitting.near_leakage}
    faults = [
        f"{part}/{name} {overlap[f'{level}_source']} sources and {overlap[f'{level}_target']} targets ({level})"
        for part, counts in leaks.items()
        for name, overlap in counts["leakage"].items()
        for level in LEVELS
        if (overlap[f"{level}_source"] or overlap[f"{level}_target"]) and policies[level] == "fail"
    ]
    if faults:
        raise files.DataError(f"{where}: parts share sentences, got {', '.join(faults)}; expected none")


class HeldOutIndex:
    """The texts of one side of some parts, by their two forms."""

    def __init__(self, held_out: Mapping[str, Sequence[Pair]], *, side: int) -> None:
        self.exact: dict[str, frozenset[str]] = {}
        self.near: dict[str, frozenset[str]] = {}
        for part, pairs in held_out.items():
            here = frozenset((part,))
            for pair in pairs:
                for index, key in (self.exact, folded(pair[side])), (self.near, "".join(sentences(pair[side]))):
                    index[key] = index[key] | here if key in index else here
        self.exact.pop("", None)  # two empty texts are no leak
        self.near.pop("", None)  # a text without letters and digits is near to none
        self.longest = max(map(len, self.near), default=0)

    def matches(self, text: str) -> Matches:
        """The parts that have `text`."""
        compared = sentences(text)
        near = self.near.get("".join(compared), NO_PART)
        # equal texts have equal letters, so that most need not be folded; those without any letter do
        exact = self.exact.get(folded(text), NO_PART) if near or not compared else NO_PART
        if len(compared) > 1:
            near = near.union(*self.parts_with_run_of(compared))
        return {"exact": exact, "near": near - exact} if exact or near else NO_MATCH

    def parts_with_run_of(self, compared: Sequence[str]) -> Iterator[frozenset[str]]:
        """The parts in which one of these sentences, or several in a row, is a text."""
        for first in range(len(compared)):
            run = ""
            for sentence in compared[first:]:
                run += sentence
                if len(run) > self.longest:
                    break
                if run in self.near:
                    yield self.near[run]


NO_PART: frozenset[str] = frozenset()
NO_MATCH = dict.fromkeys(LEVELS, NO_PART)
