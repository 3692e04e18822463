"""The parts of a corpus, apart from each other: carved or brought, without leaks, counted."""

from collections.abc import Mapping, Sequence
from functools import cache, partial, reduce
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from ..common import parts, work
from ..common.params import ParamsError, name_faults
from ..common.parts import TRAIN, VALIDATION, Shard
from ..console import progress
from .contamination import LEVELS, HeldOut, Leaks, check
from .splits import Splitting, carve, check_carved

CARVED = "carved"  # of a work folder: the pairs that each shard gives to the carved parts
REMAINING = "train.npy"  # which pairs of a shard stay


def split(clean: Path, folder: Path, splitting: Splitting, brought: Mapping[str, int], corpus: str) -> dict[str, Any]:
    """Write all parts into the work folder, without leaks between them; returns the counts.

    `brought` has the pairs in `clean`.
    Raises: ParamsError for a share that carves no pair; DataError if leakage must fail or leaves a part empty.
    """
    shards, out = parts.read_bitexts(clean), folder / work.DATA
    carved = splitting.carved()
    bitexts, where = {shard.bitext for shard in shards}, f"corpora/{corpus}.yaml: split"
    if faults := name_faults(splitting.carve_from, bitexts, f"{where}.carve_from"):
        raise ParamsError("\n".join(faults))

    def mapped(function: Any, step: str) -> Any:
        counts = work.map_shards(function, shards, folder, step)
        return progress.track(counts, f"{step} {corpus}", total=len(shards), unit="shards")

    if carved:
        list(mapped(partial(hold_out, clean=clean, folder=folder, splitting=splitting), "carve"))
    held_out = {part: list(parts.read(clean, part)) for part in brought if part != TRAIN}
    for part in carved:
        held_out[part] = [pair for shard in shards for pair in parts.read(folder / CARVED / shard.name, part)]
    check_carved({part: len(held_out[part]) for part in carved}, brought[TRAIN], splitting, where)
    validation = held_out.pop(VALIDATION)
    pairs = {
        part: parts.write(out, part, held_out[part]) if part in carved else parts.copy(part, clean, out)
        for part in held_out
    }
    leaks = Leaks(splitting, held_out)
    pairs[VALIDATION] = parts.write(out, VALIDATION, leaks.decontaminate(validation, HeldOut(held_out)))
    counts, by_bitext = {VALIDATION: leaks.counts()}, dict[str, dict[str, Any]]()
    remaining = partial(drop_leaks, clean=clean, folder=folder, splitting=splitting, held_out=tuple(pairs))
    for index, of_shard in enumerate(mapped(remaining, "split")):
        shard = shards[index]
        by_bitext[shard.bitext] = work.added(by_bitext.get(shard.bitext, {}), of_shard)
        shards[index] = shard._replace(pairs=of_shard["pairs"])
    parts.write_bitexts(out, shards)
    counts[TRAIN] = reduce(work.added, by_bitext.values())
    pairs[TRAIN] = counts[TRAIN]["pairs"]
    check(counts, pairs, splitting, clean)
    dropped = {part: of["dropped"] for part, of in counts.items()}
    assert sum(pairs.values()) + sum(sum(levels.values()) for levels in dropped.values()) == sum(brought.values())
    leakage = {f"{part}/{name}": overlap for part, of in counts.items() for name, overlap in of["leakage"].items()}
    return {"pairs": pairs, "dropped": dropped, "leakage": leakage, "bitexts": by_bitext}


def hold_out(shard: Shard, clean: Path, folder: Path, splitting: Splitting) -> None:
    """Write the pairs of a shard, those that are carved apart."""
    pairs, out = list(shard.read(clean)), folder / CARVED / shard.name
    names = [part for part, _ in carve(pairs, splitting)]
    if splitting.carve_from and shard.bitext not in splitting.carve_from:
        names = [TRAIN] * len(pairs)
    for part in splitting.carved():
        parts.write(out, part, (pair for pair, name in zip(pairs, names, strict=True) if name == part))
    np.save(out / REMAINING, [name == TRAIN for name in names])


def drop_leaks(
    shard: Shard, clean: Path, folder: Path, splitting: Splitting, held_out: Sequence[str]
) -> dict[str, Any]:
    """Write the pairs of a shard that are neither carved nor leak; returns counts."""
    leaks, out, pairs = Leaks(splitting, held_out), folder / work.DATA, shard.read(clean)
    if splitting.carved():
        pairs = compress(pairs, np.load(folder / CARVED / shard.name / REMAINING))
    num_pairs = shard.write(out, leaks.decontaminate(pairs, index(out, tuple(held_out))))
    return {"pairs": num_pairs, **leaks.counts()}


@cache
def index(out: Path, held_out: tuple[str, ...]) -> HeldOut:
    """The texts of the parts that are written already; a worker reads them once."""
    return HeldOut({part: list(parts.read(out, part)) for part in held_out})


def metrics(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that DVC shows: pairs of each part, training pairs that share a held-out source, dropped pairs."""
    leakage = {
        name.removeprefix(f"{TRAIN}/"): {level: overlap[f"{level}_source"] for level in LEVELS}
        for name, overlap in counts["leakage"].items()
        if name.startswith(f"{TRAIN}/")
    }
    return {"pairs": counts["pairs"], "leakage": leakage, "dropped": counts["dropped"]}
