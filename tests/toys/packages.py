"""A packaged system, small and with random weights; no store of runs hears of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.common import files
from pipeline.tracking.store import store
from stages import package
from tests.toys import searches, systems

DECODING = searches.SETTINGS | {"max_length_factor": 1.5, "max_length_offset": 5}
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"

OWN = {
    "pairs": 12,
    "licence": "CC BY 4.0",
    "read": 20,
    "cleaning": {"empty": 0, "duplicates": 7},
    "dropped": {"near": 1},
}


def lay_out(root: Path, model: str = "transformer_prenorm") -> str:
    """As `systems.lay_out`, with what the later stages write up to `package`; the system's id."""
    system = systems.lay_out(root, model)
    files.write_lines(root / "corpora/toy.yaml", ["licence: CC0, mine", "decode: {}"])
    training = root / "runs" / system / "train/training.json"
    best = {"update": 4, "validation_loss": 0.5, "validation_bleu": 81.5, "train_loss": 0.4}
    more = {"best": best, "updates": 5, "num_parameters": 1234, "pairs_used": 12}
    more["mixture"] = {"own": {"pairs": 12, "weight": 1.5, "share": 1.0, "passes": 4.0}}
    files.write_json(training, files.read_json(training) | more)
    files.write_json(root / "data/split/toy/languages.json", {"source_language": "fr", "target_language": "en"})
    read = {"train": [{"address": "hub/x@main", "commit": "c0ffee", "sha256": "f00d", "bytes": 1234}]}
    read["test"] = [{"address": "my/x.fr", "sha256": "beef", "bytes": 5}]
    files.write_json(
        root / "data/split/toy.json",
        {"files": read, "pairs": {"train": 12, "test": 8}, "leakage": {}, "bitexts": {"own": OWN, "web": OWN}},
    )
    files.write_json(root / "data/decode" / system / "decode.json", DECODING)
    bleu = {"score": 41.26, "signature": SIGNATURE, "interval": [40.0, 42.5]}
    files.write_json(root / "data/score" / system / "scores.json", {"test": {"bleu": bleu}})
    files.write_json(root / "metrics" / f"{system}.json", {"test": {"bleu": 41.26}, "validation": {"loss": 0.5}})
    return system


def build(root: Path, model: str = "transformer_prenorm") -> Path:
    """The folder of a packaged system below `root`, which is the working directory."""
    system = lay_out(root, model)
    with untracked():
        package.main(system)
    return root / "models" / system


@contextmanager
def untracked() -> Iterator[None]:
    """A block in which stages track nothing: to create a store takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "is_off", True)
        yield
