"""What CUDA graphs of compiled layers bring to a training on a GPU; nothing in pipeline/ uses them yet.

    python benchmarks/cuda_graphs.py --size base

It first compares losses and gradients with those of the network itself, in fp32 and without dropout, so that a graph
that computes something else is seen. Then it times updates as they are, with graphs, and with graphs of compiled
layers; for the latter two, micro-batches have few shapes. The pairs are made up: random pieces, in sentences as long as
those of WMT. The time to capture new shapes is left out, and said beside.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from contestants.captured import CapturedHidden, CudaGraphs, FewShapesSampler, fill
from contestants.job import Job, clock
from contestants.machine import describe
from contestants.pipeline_network import network
from contestants.pipeline_sections import sections
from contestants.shapes import SIZES
from torch import Tensor

from pipeline import device
from pipeline.encoding.batching import START, BatchSampler, GlobalBatch, load_batches
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.training.loop import forward_backward, train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import Ranks

PIECES, PAIRS, LONGEST = 32_000, 400_000, 120
FIRST = 40, 48  # lengths of the shape that layers are compiled for: neither equals the number of sentences


class Contest(NamedTuple):
    """A model, how it is trained, and the pairs of its updates."""

    job: Job
    pairs: Encoded

    def network(self, dropout: float) -> Any:
        """The network, on the GPU."""
        torch.manual_seed(self.job.seed)
        return network(self.job, dropout).to(device.best())

    def captured(self, net: Any, *, compiled: bool) -> CapturedHidden:
        """Put a captured `hidden` in place of the network's."""
        torch._dynamo.reset()
        hidden = CapturedHidden(net, CudaGraphs(), (self.job.positions // max(FIRST), *FIRST), compiled=compiled)
        net.hidden = hidden
        return hidden

    def updates(self, number: int, *, few_shapes: bool) -> Iterator[GlobalBatch]:
        """So many updates, of one micro-batch each."""
        training, learning = sections(self.job)
        sampler = (FewShapesSampler if few_shapes else BatchSampler)(self.pairs, training, learning.batches)
        for update in load_batches(sampler, self.pairs, START, number):
            if few_shapes:
                filled = {index: fill(batch, self.job.positions) for index, batch in update.micro_batches.items()}
                update = update._replace(micro_batches=filled)
            yield update


def main(
    modern: Annotated[bool, typer.Option(help="transformer_modern, in place of transformer_prenorm.")] = False,
    size: Annotated[str, typer.Option(help=f"Its size: {', '.join(SIZES)}.")] = "base",
    positions: Annotated[
        int, typer.Option(help="Most positions of an update's longer side, padding included.")
    ] = 27000,
    warm_up: Annotated[int, typer.Option(min=1, help="Updates that are not timed.")] = 60,
    updates: Annotated[int, typer.Option(min=1, help="Updates that are.")] = 40,
) -> None:
    """Print how far graphs are from the network, then a table of speeds."""
    if device.prepared().type != "cuda":
        print("no GPU that torch finds: nothing is measured")
        return
    device.be_deterministic(1)
    shape: dict[str, Any] = {**SIZES[size], "modern": modern, "vocabulary": PIECES, "positions": positions}
    rates: dict[str, Any] = {"dropout": 0.1, "label_smoothing": 0.1}
    job = Job(data="", precision="bf16", warm_up=warm_up, updates=updates, seed=1, **shape, **rates)
    contest = Contest(job, make_pairs())
    print(f"{describe()}; {'modern, ' if modern else ''}{size}, updates of {positions} positions\n")
    for compiled in (False, True):
        loss, gradient = distances(contest, compiled=compiled)
        print(
            f"{name(compiled)}: relative distance of losses {loss:.1e}, of whole gradients {gradient:.1e}", flush=True
        )
    print("\n| | target tokens/s | ms an update | tokens an update | GiB reserved | captures | s for them |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for way in (None, False, True):
        print(row(contest, compiled=way), flush=True)


def name(compiled: bool | None) -> str:
    """What a row or line calls it."""
    return {None: "as it is", False: "graphs", True: "graphs of compiled layers"}[compiled]


def distances(contest: Contest, *, compiled: bool, number: int = 4) -> tuple[float, float]:
    """The largest relative distance of a few losses from the network's, and of a micro-batch's whole gradient."""
    _, learning = sections(contest.job._replace(precision="fp32"))
    net = contest.network(dropout=0.0).train()
    batches = [batch for update in contest.updates(number, few_shapes=True) for batch in update.micro_batches.values()]

    def results() -> list[tuple[float, Tensor]]:
        found = []
        for batch in batches:
            loss = forward_backward(net, batch.to(device.best()), learning, len(batch.non_padding)).item()
            found.append((loss, torch.cat([weight.grad.flatten() for weight in net.parameters()])))
            net.zero_grad()
        return found

    expected = results()
    contest.captured(net, compiled=compiled)
    pairs = list(zip(expected, results(), strict=True))
    losses = max(abs(there[0] / here[0] - 1) for here, there in pairs)
    return losses, max(((there[1] - here[1]).norm() / here[1].norm()).item() for here, there in pairs)


def row(contest: Contest, *, compiled: bool | None) -> str:
    """A line of the table."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    job, (_, learning) = contest.job, sections(contest.job)
    net, total = contest.network(job.dropout), job.warm_up + job.updates
    hidden = None if compiled is None else contest.captured(net, compiled=compiled)
    feed = prefetched(contest.updates(total, few_shapes=hidden is not None), pinned=True)
    optimizer = learning.optimizer.build(net)
    steps = train(net, optimizer, feed, learning, width=job.width, updates=total, seed=job.seed, ranks=Ranks())
    for _ in itertools.islice(steps, job.warm_up):
        pass
    before, began = hidden.capturer.seconds if hidden else 0.0, clock()
    tokens = sum(step.tokens for step in steps)
    after, ended = hidden.capturer.seconds if hidden else 0.0, clock()
    seconds = ended - began - (after - before)
    gib = torch.cuda.max_memory_reserved() / 2**30
    cells = f"{tokens / seconds:,.0f} | {1000 * seconds / job.updates:.1f} | {tokens / job.updates:,.0f} | {gib:.1f}"
    return f"| {name(compiled)} | {cells} | {len(hidden.captures) if hidden else 0} | {after:.0f} |"


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
