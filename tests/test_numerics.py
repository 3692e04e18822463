"""A lock on the numbers: ten losses of each model at toy size and one translation, in fp32, on any CPU.

A refactoring that changes what a model computes fails here. For a new model, or where a change of the numbers is
meant, run `python -m tests.test_numerics <model> ...` and commit tests/numerics.json with it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.compute import ids
from pipeline.decoding import beam
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.models import interface
from pipeline.training.batching import START, load_batches
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks
from pipeline.training.sampler import BatchSampler
from tests.toys import networks, samples

LOCKED = Path(__file__).parent / "numerics.json"
UPDATES, SEED, SIZE = 10, 1, 20  # SIZE: pieces of the vocabulary
LEARNING = samples.learning(schedule={"kind": "linear", "peak_rate": 2e-2, "warmup": 4}, smoothing_spread="others")
TRAINING = samples.training(
    updates=UPDATES, tokens_per_update=80, tokens_per_batch=60, pool_pairs=40, max_length=12, cuda_graphs=False
)


def sentences() -> Encoded:
    """120 pairs of one to nine pieces; a target repeats its source backwards."""
    random = np.random.default_rng(SEED)
    rows = [random.integers(4, SIZE, random.integers(1, 10)) for _ in range(120)]
    bounds = np.cumsum([0, *map(len, rows)])
    return Encoded(Ragged(np.concatenate(rows), bounds), Ragged(np.concatenate([row[::-1] for row in rows]), bounds))


def measure(model: str) -> dict[str, Any]:
    """The loss of each of ten updates with dropout, and the best translation by random weights with its score."""
    arch = {name: 0.1 if name.endswith("dropout") else value for name, value in networks.arch(model).items()}
    module = interface.find(model)
    torch.manual_seed(SEED)
    network = module.Model(module.Arch.model_validate(arch), source_size=SIZE, target_size=SIZE)
    part = sentences()
    batches = load_batches(BatchSampler(part, TRAINING, LEARNING.batches, {}, seed=SEED), part, START, UPDATES)
    optimizer = LEARNING.optimizer.build(network)
    steps = train(network, optimizer, batches, LEARNING, width=arch["width"], updates=UPDATES, seed=SEED, ranks=Ranks())
    losses = [step.loss for step in steps]
    source = torch.tensor([[5, 9, 8, 7, 11, ids.EOS]])
    best = beam.decode(networks.build(model), source, [10], beam_size=4, alpha=4.0)[0][0]
    return {"losses": losses, "translation": best.ids, "score": best.score}


@pytest.mark.parametrize("model", interface.names())
def test_a_model_computes_what_it_did(model):
    locked = json.loads(LOCKED.read_text()).get(model)
    assert locked, f"no numbers of {model} in tests/numerics.json; write them: python -m tests.test_numerics {model}"
    got = measure(model)
    assert got["losses"] == pytest.approx(locked["losses"], rel=1e-5)
    assert got["translation"] == locked["translation"]
    assert got["score"] == pytest.approx(locked["score"], rel=1e-4)


if __name__ == "__main__":
    numbers = json.loads(LOCKED.read_text()) | {model: measure(model) for model in sys.argv[1:]}
    LOCKED.write_text(json.dumps(numbers, indent=1) + "\n")
