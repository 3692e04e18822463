"""Every model learns, from a seed never tried before: it says digits again, or backwards, that it never saw.

`pytest -m "" tests/test_learning.py -k <model>` tries a model of one's own, at size `tiny` of its file in configs/.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from pipeline.common.seeding import generator, seed_for
from pipeline.decoding import greedy
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.models import interface
from pipeline.training.batching import START, collate, load_batches
from pipeline.training.budget import Training
from pipeline.training.learning import Learning
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks
from pipeline.training.sampler import BatchSampler
from tests.toys import samples

MODELS = interface.names()
QUICKEST = ("gru_attention", "transformer_prenorm")  # each of the others takes up to a minute
VOCABULARY, DIGITS = 11, (4, 11)  # seven digits beside the four special pieces
TRAINED, UNSEEN = 20_000, 400  # sentences to train on, and sentences of each check
BATCH, INTERVAL = 80, 50  # sentences of an update, for which the rate is meant; updates between two checks


def learning(batch_size: int) -> Learning:
    """How the task is learnt; the peak rate grows with the fourth root of the batch size."""
    return samples.learning(
        batches={"kind": "sentences", "sentences_per_update": batch_size, "pool_pairs": batch_size},
        schedule={"kind": "inverse_sqrt", "peak_rate": 5e-3 * (batch_size / BATCH) ** 0.25, "warmup": 100},
        label_smoothing=0.0,
    )


def training(updates: int, batch_size: int, length: int) -> Training:
    """Each update is one micro-batch; nothing is validated or saved."""
    tokens = batch_size * (length + 1)
    return samples.training(
        updates=updates,
        tokens_per_update=tokens,
        tokens_per_batch=tokens,
        pool_pairs=batch_size,
        max_length=length + 1,
        validation_interval=updates,
        checkpoint_interval=updates,
        cuda_graphs=False,
    )


def sentences(number: int, length: int, seed: int, check: int, *, reverse: bool) -> Encoded:
    """Random sentences and their targets; check 0 is the training part, every other number is a part of its own.

    The digits of an unseen sentence add up to a multiple of five, those of a training sentence never do.
    """
    drawn = generator(seed, "digits", check).integers(*DIGITS, (10 * number, length))
    digits = drawn[(drawn.sum(axis=1) % 5 == 0) == (check > 0)][:number]
    bounds = np.arange(number + 1) * length
    return Encoded(Ragged(digits.flatten(), bounds), Ragged((digits[:, ::-1] if reverse else digits).flatten(), bounds))


def shares_learnt(
    name: str, seed: int, *, reverse: bool, batch_size: int, updates: int, length: int
) -> Iterator[float]:
    """The share of unseen sentences, new ones in each check, that greedy decoding gets exactly right."""
    torch.manual_seed(seed_for(seed, "weights"))
    module = interface.find(name)
    arch = module.Arch.load_own(f"configs/{name}.yaml:shared", f"configs/{name}.yaml:tiny")
    arch = arch.changed(**{key: 0.0 for key in type(arch).model_fields if key.endswith("dropout")})
    network = module.Model(arch, source_size=VOCABULARY, target_size=VOCABULARY)
    how, part = learning(batch_size), sentences(TRAINED, length, seed, 0, reverse=reverse)
    sampler = BatchSampler(part, training(updates, batch_size, length), how.batches, {}, seed=seed)
    batches, optimizer = load_batches(sampler, part, START, updates), how.optimizer.build(network)
    steps = train(network, optimizer, batches, how, width=arch.width, updates=updates, seed=seed, ranks=Ranks())
    for step in steps:
        if step.update % INTERVAL == 0:
            network.eval()
            unseen = sentences(UNSEEN, length, seed, step.update, reverse=reverse)
            source = collate(unseen, np.arange(UNSEEN)).source
            predicted = greedy.decode(network, source, [length * 3 // 2] * UNSEEN)
            yield sum(best.ids == unseen.target[row].tolist() for row, best in enumerate(predicted)) / UNSEEN


TASKS = {
    "five digits backwards": {"reverse": True, "batch_size": 80, "updates": 2000, "length": 5},
    "one sentence an update": {"reverse": False, "batch_size": 1, "updates": 8000, "length": 3},
    "ten digits": {"reverse": False, "batch_size": 80, "updates": 4000, "length": 10},
    "ten digits backwards": {"reverse": True, "batch_size": 80, "updates": 4000, "length": 10},
}


def marks(name: str, task: str) -> list[pytest.MarkDecorator]:
    return [] if name in QUICKEST and task == "five digits backwards" else [pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "task"), [pytest.param(name, task, marks=marks(name, task)) for name in MODELS for task in TASKS]
)
def test_a_model_learns(name, task):
    """Nine of ten unseen sentences are right before the updates run out."""
    seed = random.SystemRandom().randrange(2**31)
    shares = shares_learnt(name, seed, **TASKS[task])
    assert any(share >= 0.9 for share in shares), f"seed {seed}"
