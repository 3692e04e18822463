"""Carve missing parts, drop leaks from training: data/clean/<corpus>/ -> data/split/<corpus>/ and its .json.

metrics/<corpus>.json has a few of the counts, which `dvc metrics show` and `dvc exp show` put into
columns.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.common import files, parts
from pipeline.common.parts import TRAIN, VALIDATION, Pair
from pipeline.console import cli, progress
from pipeline.preparation import contamination, splits

READS = ("split", "corpora/{corpus}.yaml:split")


def main(corpus: str) -> None:
    """Write the parts and their languages, then counts of pairs and leaks."""
    splitting = splits.Splitting.load(*READS, corpus=corpus)
    clean, where = Path("data/clean", corpus), f"corpora/{corpus}.yaml: split"
    about = files.read_json(clean / "clean.json")
    splits.check_shares(splitting, about["pairs"], where)
    with files.new_folder(Path("data/split", corpus)) as folder:
        counts = split(clean, folder, splitting, about["pairs"], corpus)
        files.write_json(folder / "languages.json", {key: about[key] for key in ("source_language", "target_language")})
    files.write_json(Path("data/split", f"{corpus}.json"), {"files": about["files"], **counts})
    files.write_json(Path("metrics", f"{corpus}.json"), headline(counts))


def split(
    clean: Path, folder: Path, splitting: splits.Splitting, brought: dict[str, int], corpus: str
) -> dict[str, Any]:
    """Write all parts into `folder`, without leaks between them; returns the counts."""

    def train(what: str) -> Iterator[Pair]:
        return progress.track(parts.read(clean, TRAIN), f"{what} {corpus}", total=brought[TRAIN], unit="pairs")

    leakage = contamination.Leakage(splitting)
    carved = splits.hold_out(train("carve"), splitting, f"corpora/{corpus}.yaml: split")
    held_out = {part: list(parts.read(clean, part)) for part in brought if part != TRAIN} | carved
    validation = held_out.pop(VALIDATION)
    pairs = {
        part: parts.write(folder, part, held_out[part]) if part in carved else parts.copy(part, clean, folder)
        for part in held_out
    }
    held_out[VALIDATION] = list(leakage.decontaminate(VALIDATION, validation, held_out))
    pairs[VALIDATION] = parts.write(folder, VALIDATION, held_out[VALIDATION])
    remaining = splits.remaining_pairs(train("split"), splitting)
    pairs[TRAIN] = parts.write(folder, TRAIN, leakage.decontaminate(TRAIN, remaining, held_out))
    leakage.check(pairs, clean)
    dropped = sum(sum(levels.values()) for levels in leakage.dropped.values())
    assert sum(pairs.values()) + dropped == sum(brought.values())
    return {"pairs": pairs, "dropped": leakage.dropped, "leakage": leakage.overlaps}


def headline(counts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The counts for metrics: pairs of each part, dropped pairs, training pairs that share a held-out source."""
    leakage = {
        name.removeprefix(f"{TRAIN}/"): {level: overlap[f"{level}_source"] for level in contamination.LEVELS}
        for name, overlap in counts["leakage"].items()
        if name.startswith(f"{TRAIN}/")
    }
    return {
        "pairs": counts["pairs"],
        "leakage": leakage,
        "dropped": counts["dropped"],
    }


if __name__ == "__main__":
    cli.run(main)
