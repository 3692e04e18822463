"""What the parts of a corpus have in common: found, counted and taken out of the part that learns from it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from pipeline import files
from pipeline.corpora.parts import Pair
from pipeline.preparation.comparison import folded, sentences
from pipeline.preparation.duplicates import Flags, Ids, Keys, contains, digest, keys
from pipeline.preparation.splits import Splitting
from pipeline.seeding import generator

LEVELS = ("exact", "near")


class Overlap(TypedDict):
    """Pairs of one part whose source, or target, a held-out part knows: exactly, or nearly only; and those dropped."""

    exact_source: int
    exact_target: int
    near_source: int
    near_target: int
    dropped: int


class Found(NamedTuple):
    """The parts that know a text."""

    exact: frozenset[str]
    near: frozenset[str]  # and not exactly


class Leakage:
    """Compares parts as the section asks, and counts.

    A text leaks where a held-out part has the same one on the same side. `exact`: folded, the two are equal. `near`:
    they have the same letters and digits, or the held-out text is one or several whole sentences of the other one.
    Words in the middle of a sentence are no leak, however many: languages repeat themselves.

    Units: memory holds two forms of each text of the parts compared with, never those of the part that is read.
    """

    def __init__(self, splitting: Splitting) -> None:
        self.policies = dict(zip(LEVELS, (splitting.leakage, splitting.near_leakage), strict=True))
        self.overlaps: dict[str, Overlap] = {}
        self.dropped: dict[str, dict[str, int]] = {}  # part -> level -> pairs

    def decontaminate(self, part: str, pairs: Iterable[Pair], held_out: Mapping[str, Sequence[Pair]]) -> Iterator[Pair]:
        """The pairs of `part` that share neither their source nor their target with a part held out from it.

        Where the section does not drop, all pairs. A pair that two parts know counts for both, in `dropped` once: as
        `exact`, if any knows it exactly.
        """
        known = Known(held_out, side=0), Known(held_out, side=1)
        overlaps = {
            name: Overlap(exact_source=0, exact_target=0, near_source=0, near_target=0, dropped=0) for name in held_out
        }
        self.overlaps |= {f"{part}/{name}": overlap for name, overlap in overlaps.items()}
        dropped = self.dropped[part] = dict.fromkeys(LEVELS, 0)
        for pair in pairs:
            source, target = (side.find(text) for side, text in zip(known, pair, strict=True))
            if source is NOWHERE and target is NOWHERE:
                yield pair
                continue
            leaks = {"exact": source.exact | target.exact, "near": source.near | target.near}
            drops = [level for level in LEVELS if leaks[level] and self.policies[level] == "drop"]
            for name in leaks["exact"] | leaks["near"]:
                overlap = overlaps[name]
                overlap["exact_source"] += name in source.exact
                overlap["exact_target"] += name in target.exact
                overlap["near_source"] += name in source.near
                overlap["near_target"] += name in target.near
                overlap["dropped"] += any(name in leaks[level] for level in drops)
            if drops:
                dropped[drops[0]] += 1
            else:
                yield pair

    def check(self, pairs: Mapping[str, int], where: object) -> None:
        """Nothing, where each part decontaminated still holds a pair; `pairs` says how many a part holds.

        Raises: DataError with the counts where one is empty, or where there is leakage and the section asks to fail.
        """
        for part, dropped in self.dropped.items():
            if not pairs[part]:
                raise files.DataError(
                    f"{where}: no pair is left in {part}, got {sum(dropped.values())} dropped for leakage; "
                    "expected at least one"
                )
        if found := list(self.refused()):
            raise files.DataError(f"{where}: parts share sentences, got {', '.join(found)}; expected none")

    def refused(self) -> Iterator[str]:
        """Each leakage that the section asks to fail for, with its counts."""
        for parts, overlap in self.overlaps.items():
            counts = {
                "exact": (overlap["exact_source"], overlap["exact_target"]),
                "near": (overlap["near_source"], overlap["near_target"]),
            }
            for level, (source, target) in counts.items():
                if (source or target) and self.policies[level] == "fail":
                    yield f"{parts} {source} sources and {target} targets ({level})"


class Known:
    """The texts of one side of some parts."""

    def __init__(self, held_out: Mapping[str, Sequence[Pair]], *, side: int) -> None:
        self.exact: dict[str, frozenset[str]] = {}
        self.near: dict[str, frozenset[str]] = {}
        for part, pairs in held_out.items():
            here = frozenset((part,))
            for pair in pairs:
                for index, key in (self.exact, folded(pair[side])), (self.near, "".join(sentences(pair[side]))):
                    index[key] = index[key] | here if key in index else here
        self.near.pop("", None)  # what has neither letters nor digits is near to nothing
        self.longest = max(map(len, self.near), default=0)

    def find(self, text: str) -> Found:
        """The parts that know `text`."""
        told = sentences(text)
        near = self.near.get("".join(told), NO_PART)
        # equal texts have equal letters, so that most need not be folded; those without any letter do
        exact = self.exact.get(folded(text), NO_PART) if near or not told else NO_PART
        if len(told) > 1:
            near = near.union(*self.among(told))
        return Found(exact, near - exact) if exact or near else NOWHERE

    def among(self, told: Sequence[str]) -> Iterator[frozenset[str]]:
        """The parts that know some of these sentences, one or several in a row."""
        for first in range(len(told)):
            run = ""
            for sentence in told[first:]:
                run += sentence
                if len(run) > self.longest:
                    break
                if run in self.near:
                    yield self.near[run]


NO_PART: frozenset[str] = frozenset()
NOWHERE = Found(NO_PART, NO_PART)


class LineSplit:
    """The leakage that a split by line would have had, in place of the one by the hash of the source.

    Units: 24 MB of memory per million pairs: 8 bytes stand for each folded text, and one side is sorted.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.sides = bytearray(), bytearray()

    def watch(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Pass the pairs on and remember what they say."""
        for pair in pairs:
            for side, text in zip(self.sides, pair, strict=True):
                side += digest(folded(text))
            yield pair

    def measure(self, held_out: int) -> dict[str, float]:
        """Of `held_out` lines drawn by chance, how many share a side with a line that is not drawn."""
        source, target = (keys(side) for side in self.sides)
        drawn = generator(self.seed, "line_split").choice(len(source), held_out, replace=False)
        seen = int((in_the_rest(source, drawn) | in_the_rest(target, drawn)).sum())
        return {"held_out": held_out, "seen": seen, "share": round(seen / held_out, 6)}


def in_the_rest(texts: Keys, drawn: Ids) -> Flags:
    """For each line drawn, whether a line that is not drawn says the same."""
    rest = np.delete(texts, drawn)
    rest.sort()
    return contains(rest, texts[drawn])
