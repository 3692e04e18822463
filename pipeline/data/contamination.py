"""What the parts of a corpus have in common: found, counted and taken out of the part that learns from it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypedDict

import numpy as np

from pipeline import files
from pipeline.data.duplicates import Flags, Ids, Keys, contains, digest, keys
from pipeline.data.parts import Pair
from pipeline.data.splits import Splitting, normalise
from pipeline.seeding import generator


class Overlap(TypedDict):
    """Pairs of one part whose source, or target, stands on the same side of another part; and those dropped for it."""

    source: int
    target: int
    dropped: int


class Leakage:
    """Compares parts as the section asks, and counts.

    Units: memory holds the normalised texts of the parts compared with, never those of the part that is read.
    """

    def __init__(self, splitting: Splitting) -> None:
        self.drops = splitting.leakage == "drop"
        self.fails = splitting.leakage == "fail"
        self.overlaps: dict[str, Overlap] = {}
        self.dropped: dict[str, int] = {}

    def decontaminate(self, part: str, pairs: Iterable[Pair], held_out: Mapping[str, Sequence[Pair]]) -> Iterator[Pair]:
        """The pairs of `part` that share neither their source nor their target with a part held out from it.

        Where the section does not drop, all pairs. A pair that two parts hold counts for both, in `dropped` once.
        """
        sources, targets = index(held_out, side=0), index(held_out, side=1)
        found = {name: Overlap(source=0, target=0, dropped=0) for name in held_out}
        self.overlaps |= {f"{part}/{name}": overlap for name, overlap in found.items()}
        self.dropped[part] = 0
        for pair in pairs:
            in_source = sources.get(normalise(pair[0]), frozenset())
            in_target = targets.get(normalise(pair[1]), frozenset())
            hit = in_source | in_target
            for name in hit:
                found[name]["source"] += name in in_source
                found[name]["target"] += name in in_target
                found[name]["dropped"] += self.drops
            if hit and self.drops:
                self.dropped[part] += 1
            else:
                yield pair

    def check(self, pairs: Mapping[str, int], where: object) -> None:
        """Nothing, where each part decontaminated still holds a pair; `pairs` says how many a part holds.

        Raises: DataError with the counts where one is empty, or where there is leakage and the section asks to fail.
        """
        for part, dropped in self.dropped.items():
            if not pairs[part]:
                raise files.DataError(
                    f"{where}: no pair is left in {part}, got {dropped} dropped for leakage; expected at least one"
                )
        counts = [
            f"{parts} {overlap['source']} sources and {overlap['target']} targets"
            for parts, overlap in self.overlaps.items()
            if overlap["source"] or overlap["target"]
        ]
        if self.fails and counts:
            raise files.DataError(f"{where}: parts share sentences, got {', '.join(counts)}; expected none")


def index(held_out: Mapping[str, Sequence[Pair]], *, side: int) -> dict[str, frozenset[str]]:
    """Normalised text of one side -> the parts it stands in."""
    found: dict[str, frozenset[str]] = {}
    for part, pairs in held_out.items():
        here = frozenset((part,))
        for pair in pairs:
            text = normalise(pair[side])
            found[text] = found[text] | here if text in found else here
    return found


class LineSplit:
    """The leakage that a split by line would have had, in place of the one by the hash of the source.

    Units: 24 MB of memory per million pairs: 8 bytes stand for each normalised text, and one side is sorted.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.sides = bytearray(), bytearray()

    def watch(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Pass the pairs on and remember what they say."""
        for pair in pairs:
            for side, text in zip(self.sides, pair, strict=True):
                side += digest(normalise(text))
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
