"""Small data and settings that the tests of several modules share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.common import files, parts
from pipeline.common.parts import Shard
from pipeline.encoding.shards import Encoded, pack
from pipeline.training.budget import Training
from pipeline.training.learning import Learning
from tests.toys import networks

TRAINING: dict[str, Any] = {
    "updates": 10,
    "tokens_per_update": 40,
    "tokens_per_batch": 24,
    "pool_pairs": 1000,
    "max_length": 20,
    "validation_interval": 4,
    "validation_sentences": 0,
    "patience": 0,
    "checkpoint_interval": 2,
    "last_checkpoints": 2,
    "best_checkpoints": 1,
    "exact": True,
    "cuda_graphs": True,
    "threads": 0,
}
LEARNING: dict[str, Any] = {
    "batches": {"kind": "tokens"},
    "optimizer": {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
    "schedule": {"kind": "constant", "learning_rate": 1e-3},
    "label_smoothing": 0.1,
    "smoothing_spread": "all",
    "r_drop": 0.0,
    "lsi_pairs": 0,
    "clip": 1.0,
    "precision": "fp32",
}
ARCH = networks.TRANSFORMER | {"decoder_layers": 2}


def training(**changed: Any) -> Training:
    """Section `training` of a toy, some keys changed."""
    return Training.model_validate(TRAINING | changed)


def learning(**changed: Any) -> Learning:
    """Section `learning` of a toy, some keys changed."""
    return Learning.model_validate(LEARNING | changed)


def write_bitexts(split: Path, **bitexts: Sequence[tuple[str, str]]) -> None:
    """Write the training part of a corpus into the folder of the stage split, each bitext as one shard."""
    for name, pairs in bitexts.items():
        for side, path in enumerate(Shard(name, 0, 0).paths(split)):
            files.write_lines(path, [pair[side] for pair in pairs])
    parts.write_bitexts(split, [Shard(name, 0, len(pairs)) for name, pairs in bitexts.items()])


def encoded(source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> Encoded:
    """A part, in memory."""
    return Encoded(pack(source, 99), pack(target, 99))


def sentences(number: int, *, seed: int, vocabulary: int = 11, longest: int = 8, shortest: int = 1) -> list[list[int]]:
    """Sentences of random pieces; the first four ids are special."""
    random = np.random.default_rng(seed)
    lengths = random.integers(shortest, longest + 1, number)
    return [random.integers(4, vocabulary, length).tolist() for length in lengths]
