"""Every model learns: to say digits again, and to say them backwards, from seeds never tried before."""

import random

import pytest
import torch

from pipeline.data.batching import Plan, collate, in_order, updates_from
from pipeline.decoding import greedy
from pipeline.models import interface
from pipeline.training.checkpoints import START
from pipeline.training.loop import train
from tests import toys

MODELS = ["transformer_postnorm", "transformer_prenorm"]
SEEDS = [random.SystemRandom().randrange(2**31) for _ in range(2)]
VOCABULARY = 11  # 7 digits beside the four special pieces
ARCH = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "heads": 2, "feed_forward": 64, "dropout": 0.0}
UPDATES = 1000  # at most; most need 200 to 400
UNSEEN = 400


def task(number, *, seed, reverse):
    """Sentences of 10 digits, as in the Annotated Transformer's copy task, and what is to be said of each."""
    source = toys.sentences(number, seed=seed, vocabulary=VOCABULARY, shortest=10, longest=10)
    return source, [line[::-1] if reverse else line for line in source]


def learn(name, seed, *, reverse):
    """A model trained by the loop, until it says nearly all of some sentences exactly that it was not trained on."""
    settings = toys.training(tokens_per_update=600, tokens_per_batch=900, max_length=11, pool_pairs=4000, seed=seed)
    schedule = {"kind": "inverse_sqrt", "peak_rate": 5e-3, "warmup": 50}
    learning = toys.learning(schedule=schedule, label_smoothing=0.0)
    part = toys.encoded(*task(4000, seed=seed, reverse=reverse))
    found = interface.find(name)
    torch.manual_seed(seed)
    arch = found.Arch.model_validate(ARCH | {"tied_embeddings": "all"})
    model = found.Model(arch, source_size=VOCABULARY, target_size=VOCABULARY)
    updates = updates_from(Plan(part, settings), part, START, UPDATES)
    for step in train(model, learning.optimizer.build(model), updates, learning, width=arch.width, seed=seed):
        if step.update % 50 == 0 and exact(model, *task(UNSEEN, seed=seed + 1, reverse=reverse)) >= 0.995:
            break
    return model


def exact(model, source, target):
    """Share of the sentences that the greedy decoder says exactly."""
    model.eval()
    part, right = toys.encoded(source, target), 0
    for pairs in in_order(part, 1000):
        said = greedy.decode(model, collate(part, pairs).source, [15] * len(pairs))
        right += sum(one == target[pair] for pair, one in zip(pairs.tolist(), said, strict=True))
    return right / len(source)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reverse", [False, True], ids=["copy", "reverse"])
def test_unseen_digits_come_out_exactly(name, seed, reverse):
    model = learn(name, seed, reverse=reverse)
    assert exact(model, *task(UNSEEN, seed=seed + 2, reverse=reverse)) >= 0.95, f"seed {seed}"
