"""The parts of a corpus, apart from each other: carved or brought, without leaks, counted."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..common import parts
from ..common.parts import TRAIN, VALIDATION, Pair
from ..console import progress
from .contamination import LEVELS, Leakage
from .splits import Splitting, hold_out, remaining_pairs


def split(clean: Path, folder: Path, splitting: Splitting, brought: Mapping[str, int], corpus: str) -> dict[str, Any]:
    """Write all parts into `folder`, without leaks between them; returns the counts. `brought`: pairs in `clean`.

    Raises: ParamsError for a share that carves no pair; DataError if leakage must fail or leaves a part empty.
    """

    def train(verb: str) -> Iterator[Pair]:
        return progress.track(parts.read(clean, TRAIN), f"{verb} {corpus}", total=brought[TRAIN], unit="pairs")

    leakage = Leakage(splitting)
    carved = hold_out(train("carve"), splitting, f"corpora/{corpus}.yaml: split")
    held_out = {part: list(parts.read(clean, part)) for part in brought if part != TRAIN} | carved
    validation = held_out.pop(VALIDATION)
    pairs = {
        part: parts.write(folder, part, held_out[part]) if part in carved else parts.copy(part, clean, folder)
        for part in held_out
    }
    held_out[VALIDATION] = list(leakage.decontaminate(VALIDATION, validation, held_out))
    pairs[VALIDATION] = parts.write(folder, VALIDATION, held_out[VALIDATION])
    remaining = remaining_pairs(train("split"), splitting)
    pairs[TRAIN] = parts.write(folder, TRAIN, leakage.decontaminate(TRAIN, remaining, held_out))
    leakage.check(pairs, clean)
    dropped = sum(sum(levels.values()) for levels in leakage.dropped.values())
    assert sum(pairs.values()) + dropped == sum(brought.values())
    return {"pairs": pairs, "dropped": leakage.dropped, "leakage": leakage.overlaps}


def metrics(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that DVC shows: pairs of each part, training pairs that share a held-out source, dropped pairs."""
    leakage = {
        name.removeprefix(f"{TRAIN}/"): {level: overlap[f"{level}_source"] for level in LEVELS}
        for name, overlap in counts["leakage"].items()
        if name.startswith(f"{TRAIN}/")
    }
    return {"pairs": counts["pairs"], "leakage": leakage, "dropped": counts["dropped"]}
