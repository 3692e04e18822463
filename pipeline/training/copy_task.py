"""The copy task: a model learns to say ten digits again, or backwards, and is asked about digits it never saw."""

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
TRAINED, UNSEEN = 20_000, 400  # sentences to learn from, and those of each look

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
    """Where a model stands after an update, and one of the sentences that it was asked about."""

    update: int
    loss: float  # of the update, in nats per target token
    exact: float  # share of unseen sentences, new ones at each look, that the greedy decoder says exactly
    source: list[int]
    said: list[int]


def run(
    name: str, *, reverse: bool, batch_size: int, updates: int, interval: int, seed: int, length: int = LENGTH
) -> Iterator[Progress]:
    """Train the model called `name` on `batch_size` sentences an update, yielding every `interval` updates and at last.

    Source: the first example of the Annotated Transformer, on a smaller model and with sentences of seven digits.
    Raises: UnknownModelError.
    """
    if name not in ARCHS:
        raise UnknownModelError(f"copy task: unknown model, got {name!r}{nearest(name, ARCHS)}")
    found, learning = interface.find(name), learning_of(name, batch_size)
    arch = found.Arch.model_validate(ARCHS[name])
    torch.manual_seed(seed_for(seed, "weights"))
    model = found.Model(arch, source_size=VOCABULARY, target_size=VOCABULARY)
    part = sentences(TRAINED, length, reverse=reverse, seed=seed, look=0)
    sampler = BatchSampler(part, training_of(updates, batch_size, length, seed), learning.batches)
    steps = load_batches(sampler, part, START, updates)
    optimizer = learning.optimizer.build(model)
    alone, width = Ranks(), arch.width
    for step in train(model, optimizer, steps, learning, width=width, last=updates, seed=seed, ranks=alone):
        if step.update % interval == 0 or step.update == updates:
            asked = sentences(UNSEEN, length, reverse=reverse, seed=seed, look=step.update)
            answers = said(model, asked)
            right = sum(answer == asked.target[row].tolist() for row, answer in enumerate(answers))
            yield Progress(step.update, step.loss, right / UNSEEN, asked.source[0].tolist(), answers[0])


def learning_of(name: str, batch_size: int) -> Learning:
    """How a model learns the task: the smaller its updates, the smaller its steps, by the fourth root."""
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
    """How long, an update in one micro-batch; `Learning` says what an update is, and nothing is validated or kept."""
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


def sentences(number: int, length: int, *, reverse: bool, seed: int, look: int) -> Encoded:
    """So many sentences and what is to be said of each; look 0 is what is learnt from, each other has its own.

    What is learnt from never adds up to a multiple of five, what is looked at always does.
    """
    drawn = generator(seed, "copy task", look).integers(DIGITS.start, DIGITS.stop, (10 * number, length))
    digits = drawn[(drawn.sum(axis=1) % 5 == 0) == (look > 0)][:number]
    return Encoded(rows(digits), rows(digits[:, ::-1] if reverse else digits))


def rows(matrix: np.ndarray) -> Ragged:
    """One sentence a row of ids."""
    return Ragged(matrix.flatten(), np.arange(len(matrix) + 1) * matrix.shape[1])


def said(model: Any, part: Encoded) -> list[list[int]]:
    """What the greedy decoder says of each sentence; half as long again as the longest is too long."""
    model.eval()
    found: dict[int, list[int]] = {}
    longest = int(part.source.lengths.max())
    for pairs in sorted_batches(part, UNSEEN * (longest + 1)):
        answers = greedy.decode(model, collate(part, pairs).source, [longest * 3 // 2] * len(pairs))
        found |= zip(pairs.tolist(), answers, strict=True)
    return [found[row] for row in range(len(part.source))]
