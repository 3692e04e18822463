"""What CUDA graphs bring to a training on a GPU: the same batches as they are, in few shapes, and replayed.

    python benchmarks/cuda_graphs.py --size base --positions 27000

The pairs are made up: random pieces, in sentences as long as those of WMT. The same updates are made three times, and
the third time counts: a shape is captured when it comes again, at the latest the second time, if there is room. What
the second time took longer is the price of its own captures, not of those of the first. Replayed updates must have the
same losses, to the bit, as others of the same shapes.
"""

import sys
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from contestants.job import Job, clock
from contestants.machine import describe
from contestants.pipeline_network import network
from contestants.pipeline_sections import sections
from contestants.shapes import SIZES

from pipeline import device
from pipeline.encoding.batching import START, BatchSampler, load_batches
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.training.graphs import replay_hidden
from pipeline.training.loop import train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import Ranks

PIECES, PAIRS, LONGEST = 32_000, 400_000, 120


class Way(NamedTuple):
    """How the updates are computed."""

    name: str
    bucketed: bool
    replayed: bool


WAYS = Way("as it is", False, False), Way("few shapes", True, False), Way("few shapes, replayed", True, True)


def main(
    modern: Annotated[bool, typer.Option(help="transformer_modern, in place of transformer_prenorm.")] = False,
    size: Annotated[str, typer.Option(help=f"Its size: {', '.join(SIZES)}.")] = "base",
    positions: Annotated[
        int, typer.Option(help="Most positions of an update's longer side, padding included.")
    ] = 27000,
    updates: Annotated[int, typer.Option(min=1, help="Updates, each made three times.")] = 100,
) -> None:
    """Print a table of speeds."""
    if device.prepared().type != "cuda":
        print("no GPU that torch finds: nothing is measured")
        return
    device.be_deterministic(1)
    shape: dict[str, Any] = {**SIZES[size], "modern": modern, "vocabulary": PIECES, "positions": positions}
    rates: dict[str, Any] = {"dropout": 0.1, "label_smoothing": 0.1}
    job = Job(data="", precision="bf16", warm_up=0, updates=updates, seed=1, **shape, **rates)
    pairs, losses = make_pairs(), {}
    print(f"{describe()}; {'modern, ' if modern else ''}{size}, updates of {positions} positions\n")
    columns = (
        "| | target tokens/s | ms an update | tokens an update | padding | GiB | captures | of the 2nd time | in s "
    )
    print(f"{columns}| all three times, s |\n| :--- |{' ---: |' * columns.count('|')}")
    for way in WAYS:
        cells, losses[way] = measure(job, pairs, way)
        print(f"| {way.name} | {' | '.join(cells)} |", flush=True)
    for number, (computed, replayed) in enumerate(zip(losses[WAYS[1]], losses[WAYS[2]], strict=True)):
        if computed != replayed:
            where = f"update {number % updates + 1}, time {number // updates + 1}"
            sys.exit(f"{where}: the loss is {replayed} when replayed, {computed} when computed; expected the same bits")


def measure(job: Job, pairs: Encoded, way: Way) -> tuple[list[str], list[float]]:
    """The cells of a row, and the loss of every update."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    training, learning = sections(job)
    torch.manual_seed(job.seed)
    net = network(job, job.dropout).to(device.best())
    hidden = replay_hidden(net) if way.replayed else None
    sampler = BatchSampler(pairs, training, learning.batches, bucketed=way.bucketed)
    optimizer = learning.optimizer.build(net)
    losses: list[float] = []
    times: list[float] = []
    captures: list[int] = []
    for _ in range(3):
        feed = prefetched(load_batches(sampler, pairs, START, job.updates), pinned=True)
        began = clock()
        steps = list(train(net, optimizer, feed, learning, width=job.width, updates=job.updates, seed=1, ranks=Ranks()))
        times.append(clock() - began)
        captures.append(len(hidden.captures) if hidden else 0)
        losses += [step.loss for step in steps]
    seconds, tokens = times[2], sum(step.tokens for step in steps)
    padding = 1 - sum(step.num_real_positions for step in steps) / sum(step.num_positions for step in steps)
    cells = [
        f"{tokens / seconds:,.0f}",
        f"{1000 * seconds / job.updates:.1f}",
        f"{tokens / job.updates:,.0f}",
        f"{100 * padding:.1f} %",
        f"{torch.cuda.max_memory_reserved() / 2**30:.1f}",
        str(captures[2]),
        str(captures[1] - captures[0]),
        f"{times[1] - times[2]:.1f}",
        f"{sum(times):.1f}",
    ]
    return cells, losses


def make_pairs(number: int = PAIRS) -> Encoded:
    """Pairs of random pieces; source lengths are lognormal about 23, targets about as long."""
    random = np.random.default_rng(1)
    source = np.clip(random.lognormal(np.log(23), 0.55, number), 1, LONGEST).astype(np.int64)
    target = np.clip(source * 1.05 * random.lognormal(0, 0.15, number), 1, LONGEST).astype(np.int64)

    def side(lengths: Any) -> Ragged:
        pieces = random.integers(4, PIECES, lengths.sum()).astype(np.uint16)
        return Ragged(pieces, np.concatenate(([0], np.cumsum(lengths))))

    return Encoded(side(source), side(target))


if __name__ == "__main__":
    typer.run(main)
