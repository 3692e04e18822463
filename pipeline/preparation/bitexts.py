"""The bitexts of a corpus, cleaned: rules shard by shard, then duplicates across all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np

from ..common import parts, work
from ..common.parts import Pair, RawPair, Shard
from ..console import progress
from . import cleaning, duplicates
from .cleaning import DUPLICATES, Cleaning, Tally

EXTERNAL = "external"  # the rule whose program may need all cores, or the GPU: it runs once at a time
ROUGH = "rough"  # of a work folder: shards in which duplicates still are
Sections = Mapping[str, Cleaning]  # by bitext


def clean(
    raw: Path, folder: Path, sections: Sections, languages: tuple[str, str], corpus: str
) -> dict[str, dict[str, Any]]:
    """Write the clean training part of the corpus at `raw` into the work folder; returns the counts of each bitext."""
    shards = parts.read_bitexts(raw)
    kinds = sorted({section.duplicates for section in sections.values()} - {"off"})
    by_bitext = {name: Tally(0).counts() for name in sections}

    def mapped(function: Any, step: str, processes: int | None = None) -> None:
        results = work.map_shards(function, [*shards], folder, step, processes=processes)
        results = progress.track(results, f"clean {corpus}: {step}", total=len(shards), unit="shards")
        for index, counts in enumerate(results):
            shard = shards[index]
            by_bitext[shard.bitext] = work.added(by_bitext[shard.bitext], counts)
            before = 0 if step == "rules" else shard.pairs
            shards[index] = shard._replace(pairs=before + counts["kept"])

    rules = partial(apply_rules, raw=raw, folder=folder, sections=sections, kinds=kinds, languages=languages)
    has_program = any(getattr(section, EXTERNAL) for section in sections.values())
    mapped(rules, "rules", 1 if has_program else None)
    for kind in kinds:
        duplicates.find(shards, kind, folder)
    mapped(partial(drop_duplicates, folder=folder, sections=sections), DUPLICATES)
    parts.write_bitexts(folder / work.DATA, shards)
    for name, counts in by_bitext.items():
        most = sections[name].examples
        counts["examples"] = {rule: pairs[:most] for rule, pairs in counts["examples"].items()}
    return by_bitext


def apply_rules(
    shard: Shard, raw: Path, folder: Path, sections: Sections, kinds: Sequence[str], languages: tuple[str, str]
) -> dict[str, Any]:
    """Write the pairs of a shard that no rule drops, and their keys; returns counts."""
    section = sections[shard.bitext]
    tally = Tally(section.examples)
    pairs = cleaning.clean(zip(*shard.raw_lines(raw), strict=True), section, languages, tally)
    shard.write(folder / ROUGH, pairs)
    for kind in kinds:
        duplicates.write_keys(shard, pairs, kind, folder)
    return tally.counts()


def drop_duplicates(shard: Shard, folder: Path, sections: Sections) -> dict[str, Any]:
    """Write the pairs of a shard that are no duplicates; returns counts."""
    section = sections[shard.bitext]
    tally, kept = Tally(section.examples), np.ones(shard.pairs, dtype=bool)
    if section.duplicates != "off":
        kept = ~duplicates.repeated(shard, section.duplicates, folder)
    pairs = list(zip(*shard.raw_lines(folder / ROUGH), strict=True))
    parts.write_lines(shard.paths(folder / work.DATA), compress(pairs, kept))
    dropped = ((source.decode(), target.decode()) for source, target in compress(pairs, ~kept))
    tally.note(DUPLICATES, dropped, tally.dropped)
    return tally.counts()


def kept_pairs(
    raw: Iterable[RawPair], section: Cleaning, languages: tuple[str, str], tally: Tally, seen: set[tuple[str, int]]
) -> Iterator[Pair]:
    """The pairs that `clean` keeps of those given, which are few: their keys, which `seen` gets, are in memory."""
    lines = iter(raw)
    while batch := list(islice(lines, parts.SHARD_PAIRS)):
        pairs = cleaning.clean(batch, section, languages, tally)
        keys = duplicates.keys(pairs, section.duplicates).tolist()
        for pair, key in zip(pairs, keys, strict=True):
            if section.duplicates != "off" and (section.duplicates, key) in seen:
                tally.note(DUPLICATES, [pair], tally.dropped)
            else:
                seen.add((section.duplicates, key))
                yield pair
