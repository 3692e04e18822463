"""The Transformers that contestants train, and the jobs that ask for them."""

import json
import sys
from pathlib import Path
from typing import Any

SIZES = {
    "small": {"layers": 3, "width": 256, "heads": 4, "feed_forward": 1024},
    "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048},
}
# Of section `decode`, what every contestant knows.
SEARCH = ("beam_size", "length_penalty", "max_length_factor", "max_length_offset", "tokens_per_batch")


def training_job(data: Path, size: str, **more: Any) -> dict[str, Any]:
    """A training on an encoded corpus, with what else a `job.Job` asks for."""
    return {
        **SIZES[size],
        "data": str((data / "train").resolve()),
        "vocabulary": vocabulary_size(data),
        "dropout": 0.1,
        "label_smoothing": 0.1,
        **more,
    }


def translation_job(
    vocabulary: int, sources: list[list[int]], decoding: dict[str, Any], threads: int
) -> dict[str, Any]:
    """A translation of these sources with a `small` pre-norm Transformer that was trained, beam 5."""
    kept = {name: decoding[name] for name in SEARCH}
    shape = {**SIZES["small"], "vocabulary": vocabulary, "norm": "pre"}
    return {**shape, "sources": sources, **kept, "beam_size": 5, "threads": threads}


def vocabulary_size(data: Path) -> int:
    """How many pieces the joint vocabulary of an encoded corpus has."""
    path = data.resolve().parents[1] / "vocabulary" / data.name / "vocabulary.json"
    if not path.exists():
        sys.exit(f"{path}: no such file; expected what `dvc repro encode` builds")
    about = json.loads(path.read_text(encoding="utf-8"))
    if not about["joint"]:
        sys.exit(f"{path}: not a joint vocabulary; expected one, whose embeddings all contestants share")
    return int(about["source_size"])
