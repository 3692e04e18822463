"""`nmt copy-task`: whether a model can learn at all, by ten digits that it repeats or reverses."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer

from pipeline.decoding import greedy
from pipeline.encoding.batching import START, BatchSampler, collate, load_batches, sorted_batches
from pipeline.encoding.budget import Training
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.models import interface
from pipeline.params import DEFAULT, LARGEST, ParamsError, nearest
from pipeline.seeding import generator, seed_for
from pipeline.training.learning import Learning
from pipeline.training.loop import train
from pipeline.training.ranks import Ranks

VOCABULARY, DIGITS = 11, range(4, 11)  # seven digits beside the four special pieces
LENGTH = 10  # of a sentence, unless asked otherwise
TRAINED, UNSEEN = 20_000, 400  # sentences to train on, and sentences of each check

PEAK_RATE, HIGHEST_RATE = 5e-3, 1000.0  # at BATCH sentences an update
BATCH, WARMUP = 80, 100
INTERVAL = 50  # updates between two checks
LEARNT = 0.99  # share of unseen sentences, new ones in each check


class Check(NamedTuple):
    """The result of a check, with one of its sentences."""

    update: int
    loss: float  # of the update, in nats per target token
    exact: float  # share of unseen sentences, new ones in each check, that greedy decoding gets exactly right
    source: list[int]
    predicted: list[int]


def copy_task(
    model: Annotated[str, typer.Option(help="A model, such as rnnsearch.")],
    size: Annotated[str, typer.Option(help="One of its sizes in params.yaml; without dropout.")] = "tiny",
    reverse: Annotated[bool, typer.Option("--reverse", help="Write the digits backwards.")] = False,
    batch_size: Annotated[int, typer.Option(min=1, max=TRAINED, help="Sentences an update.")] = BATCH,
    length: Annotated[int, typer.Option(min=2, max=50, help="Digits a sentence.")] = LENGTH,
    updates: Annotated[int, typer.Option(min=1, max=LARGEST, help="Give up after so many.")] = 5000,
    peak_rate: Annotated[float, typer.Option(help="Highest learning rate, for 80 sentences.")] = PEAK_RATE,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST, help="Of the weights and the sentences.")] = 1,
) -> None:
    """Train a model to copy digits, until it copies digits that it never saw.

    Prints the loss and the share of unseen sentences that are copied exactly. The exit status is 0 as soon as that is
    99 %, and 1 if the updates run out before.
    """
    if not 0 < peak_rate <= HIGHEST_RATE:  # nor NaN
        raise ParamsError(
            f"--peak-rate: must be over 0 and at most {HIGHEST_RATE:g}, got {peak_rate:g}; "
            f"expected a number such as {PEAK_RATE:g}"
        )
    last = None
    arch, asked = read_arch(model, size), {"batch_size": batch_size, "length": length, "updates": updates}
    for last in run(model, arch, reverse=reverse, interval=INTERVAL, seed=seed, peak_rate=peak_rate, **asked):
        source, output = (" ".join(map(str, pieces)) for pieces in (last.source, last.predicted))
        print(f"update {last.update}: loss {last.loss:.3f}, {last.exact:.1%} exact, {source} -> {output}", flush=True)
        if last.exact >= LEARNT:
            break
    assert last is not None, "at least one check"
    learnt = last.exact >= LEARNT
    print(f"{model}: {'' if learnt else 'not '}learnt in {last.update} updates, {last.exact:.1%} exact")
    raise typer.Exit(0 if learnt else 1)


def read_arch(model: str, size: str) -> Any:
    """The architecture of `models.<model>.<size>` in params.yaml, without dropout.

    Raises: ParamsError if there is no such model or size, or its section has faults.
    """
    if model not in (known := interface.names()):
        raise ParamsError(f"--model: unknown model, got {model!r}{nearest(model, known)}")
    arch = interface.find(model).Arch.load_own(f"models.{model}.{DEFAULT}", f"models.{model}.{size}")
    rates = [name for name in type(arch).model_fields if name.endswith("dropout")]
    return arch.changed(**dict.fromkeys(rates, 0.0))


def run(
    model: str,
    arch: Any,
    *,
    reverse: bool,
    batch_size: int,
    updates: int,
    interval: int,
    seed: int,
    length: int = LENGTH,
    peak_rate: float = PEAK_RATE,
) -> Iterator[Check]:
    """Train a model of an architecture on `batch_size` sentences an update; check it every `interval` updates.

    Source: the first example of the Annotated Transformer, with sentences of seven digits.
    """
    torch.manual_seed(seed_for(seed, "weights"))
    network = interface.find(model).Model(arch, source_size=VOCABULARY, target_size=VOCABULARY)
    part = sentences(TRAINED, length, reverse=reverse, seed=seed, check=0)
    learning = learning_of(peak_rate, batch_size)
    sampler = BatchSampler(part, training_of(updates, batch_size, length, seed), learning.batches)
    batches = load_batches(sampler, part, START, updates)
    optimizer = learning.optimizer.build(network)
    width = arch.width
    for step in train(network, optimizer, batches, learning, width=width, updates=updates, seed=seed, ranks=Ranks()):
        if step.update % interval == 0 or step.update == updates:
            unseen = sentences(UNSEEN, length, reverse=reverse, seed=seed, check=step.update)
            predicted = predict(network, unseen)
            correct = sum(pieces == unseen.target[row].tolist() for row, pieces in enumerate(predicted))
            yield Check(step.update, step.loss, correct / UNSEEN, unseen.source[0].tolist(), predicted[0])


def learning_of(peak_rate: float, batch_size: int) -> Learning:
    """How the task is learnt; the peak rate grows with the fourth root of `batch_size`."""
    peak_rate *= (batch_size / BATCH) ** 0.25
    return Learning.model_validate(
        {
            "batches": {"kind": "sentences", "sentences_per_update": batch_size, "pool_pairs": batch_size},
            "optimizer": {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
            "schedule": {"kind": "inverse_sqrt", "peak_rate": peak_rate, "warmup": WARMUP},
            "label_smoothing": 0.0,
            "smoothing_spread": "all",
            "r_drop": 0.0,
            "lsi_pairs": 0,
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
        exact=True,
        cuda_graphs=False,
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
