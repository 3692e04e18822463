"""The copy task: a model learns to repeat ten digits, or to reverse them, and is checked on unseen sentences."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from pipeline.decoding import greedy
from pipeline.encoding.batching import START, BatchSampler, collate, load_batches, sorted_batches
from pipeline.encoding.budget import Training
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.models import interface
from pipeline.params import nearest
from pipeline.seeding import generator, seed_for
from pipeline.training.learning import Learning
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks

VOCABULARY, DIGITS = 11, range(4, 11)  # seven digits beside the four special pieces
LENGTH = 10  # of a sentence, unless asked otherwise
TRAINED, UNSEEN = 20_000, 400  # sentences to train on, and sentences of each check

RECURRENT: dict[str, Any] = {"embedding": 32, "dropout": 0.0, "output_dropout": 0.0, "teacher_forcing": 1.0}
TRANSFORMER: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 1,
    "width": 32,
    "heads": 2,
    "feed_forward": 64,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "feed_forward_dropout": 0.0,
    "tied_embeddings": "all",
    "initialisation": {"kind": "xavier", "sublayer_gain": 1.0},
}
CHO: dict[str, Any] = {"context_layer": False, "start_layer": True}
ADDITIVE: dict[str, Any] = {"attention": {"kind": "additive", "size": 32}, "scope": {"kind": "global"}}
ARCHS: dict[str, dict[str, Any]] = {
    "rnn_encdec": RECURRENT | {"width": 128, "maxout": 64, "reset_gate": "after", "reverse_source": True} | CHO,
    "gru_attention": RECURRENT | {"encoder_width": 32, "bidirectional": True, "width": 64} | ADDITIVE,
    "bilstm_attention": RECURRENT | {"embedding": 64, "encoder_width": 64, "width": 128, "initialisation": "torch"},
    "rnnsearch": RECURRENT | {"width": 64, "alignment": 64, "maxout": 64, "reset_gate": "before"},
    "transformer_postnorm": TRANSFORMER,
    "transformer_prenorm": TRANSFORMER,
}
PEAK_RATE = {name: 5e-3 if name.startswith("transformer") else 1e-2 for name in ARCHS}  # at BATCH sentences an update
BATCH, WARMUP = 80, 100


class UnknownModelError(ValueError):
    """There is no model of that name."""


class Progress(NamedTuple):
    """The result of a check, with one of its sentences."""

    update: int
    loss: float  # of the update, in nats per target token
    exact: float  # share of unseen sentences, new ones in each check, that greedy decoding gets exactly right
    source: list[int]
    predicted: list[int]


def run(
    name: str, *, reverse: bool, batch_size: int, updates: int, interval: int, seed: int, length: int = LENGTH
) -> Iterator[Progress]:
    """Train the model called `name` on `batch_size` sentences an update; check it every `interval` updates.

    Source: the first example of the Annotated Transformer, on a smaller model and with sentences of seven digits.
    Raises: UnknownModelError.
    """
    if name not in ARCHS:
        raise UnknownModelError(f"copy task: unknown model, got {name!r}{nearest(name, ARCHS)}")
    module, learning = interface.find(name), learning_of(name, batch_size)
    arch = module.Arch.model_validate(ARCHS[name])
    torch.manual_seed(seed_for(seed, "weights"))
    model = module.Model(arch, source_size=VOCABULARY, target_size=VOCABULARY)
    part = sentences(TRAINED, length, reverse=reverse, seed=seed, check=0)
    sampler = BatchSampler(part, training_of(updates, batch_size, length, seed), learning.batches)
    batches = load_batches(sampler, part, START, updates)
    optimizer = learning.optimizer.build(model)
    width = arch.width
    for step in train(model, optimizer, batches, learning, width=width, last=updates, seed=seed, ranks=Ranks()):
        if step.update % interval == 0 or step.update == updates:
            unseen = sentences(UNSEEN, length, reverse=reverse, seed=seed, check=step.update)
            predicted = predict(model, unseen)
            correct = sum(pieces == unseen.target[row].tolist() for row, pieces in enumerate(predicted))
            yield Progress(step.update, step.loss, correct / UNSEEN, unseen.source[0].tolist(), predicted[0])


def learning_of(name: str, batch_size: int) -> Learning:
    """Section `learning` for the task; the peak rate grows with the fourth root of `batch_size`."""
    peak_rate = PEAK_RATE[name] * (batch_size / BATCH) ** 0.25
    return Learning.model_validate(
        {
            "batches": {"kind": "sentences", "sentences_per_update": batch_size, "pool_pairs": batch_size},
            "optimizer": {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
            "schedule": {"kind": "inverse_sqrt", "peak_rate": peak_rate, "warmup": WARMUP},
            "label_smoothing": 0.0,
            "smoothing_spread": "all",
            "clip": 1.0,
            "precision": "fp32",
        }
    )


def training_of(updates: int, batch_size: int, length: int, seed: int) -> Training:
    """Section `training` for the task: each update is one micro-batch; nothing is validated or saved."""
    return Training(
        updates=updates,
        tokens_per_update=batch_size * (length + 1),
        tokens_per_batch=batch_size * (length + 1),
        pool_pairs=batch_size,
        max_length=length + 1,
        validation_interval=updates,
        validation_sentences=0,
        patience=0,
        checkpoint_interval=updates,
        last_checkpoints=1,
        best_checkpoints=0,
        threads=0,
        seed=seed,
    )


def sentences(number: int, length: int, *, reverse: bool, seed: int, check: int) -> Encoded:
    """Random sentences and their targets; check 0 is the training part, every other number is a part of its own.

    The digits of an unseen sentence add up to a multiple of five, those of a training sentence never do.
    """
    drawn = generator(seed, "copy task", check).integers(DIGITS.start, DIGITS.stop, (10 * number, length))
    digits = drawn[(drawn.sum(axis=1) % 5 == 0) == (check > 0)][:number]
    return Encoded(rows(digits), rows(digits[:, ::-1] if reverse else digits))


def rows(matrix: np.ndarray) -> Ragged:
    """One sentence per row of ids."""
    return Ragged(matrix.flatten(), np.arange(len(matrix) + 1) * matrix.shape[1])


def predict(model: Any, part: Encoded) -> list[list[int]]:
    """The greedy translation of each sentence, at most 1.5 times as long as the longest source."""
    model.eval()
    predicted: dict[int, list[int]] = {}
    longest = int(part.source.lengths.max())
    for pairs in sorted_batches(part, UNSEEN * (longest + 1)):
        pieces = greedy.decode(model, collate(part, pairs).source, [longest * 3 // 2] * len(pairs))
        predicted |= zip(pairs.tolist(), pieces, strict=True)
    return [predicted[row] for row in range(len(part.source))]
