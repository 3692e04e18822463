"""What CUDA graphs of compiled layers bring to a training on a GPU; nothing in pipeline/ uses them yet.

    python benchmarks/cuda_graphs.py --model transformer_prenorm --size base

It first compares losses and gradients with those of the network itself, in fp32 and without dropout, so that a graph
that computes something else is seen. Then it times updates as they are, with graphs, and with graphs of compiled
layers; for the latter two, micro-batches have few shapes. The pairs are made up: random pieces, in sentences as long as
those of WMT. The time to capture new shapes is left out, and said beside.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import torch
import typer
from contestants.captured import CapturedHidden, CudaGraphs, FewShapesSampler, fill
from contestants.machine import describe
from contestants.shapes import SIZES
from torch import Tensor

from pipeline import device
from pipeline.encoding.batching import START, BatchSampler, GlobalBatch, load_batches
from pipeline.encoding.budget import Training
from pipeline.encoding.shards import Encoded, Ragged
from pipeline.models import interface
from pipeline.training.learning import Learning
from pipeline.training.loop import forward_backward, train
from pipeline.training.prefetch import prefetched
from pipeline.training.ranks import Ranks

PIECES, PAIRS, LONGEST = 32_000, 400_000, 120
FIRST = 40, 48  # lengths of the shape that layers are compiled for: neither equals the number of sentences
LEARNING = {
    "batches": {"kind": "tokens"},
    "optimizer": {"kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
    "schedule": {"kind": "linear", "peak_rate": 1e-3, "warmup": 100},
    "label_smoothing": 0.1,
    "smoothing_spread": "all",
    "r_drop": 0.0,
    "lsi_pairs": 0,
    "clip": 1.0,
    "precision": "bf16",
}


@dataclass
class Contest:
    """A model and updates to race with."""

    model: str
    size: str
    positions: int
    pairs: Encoded = field(default_factory=lambda: make_pairs())

    def network(self, dropout: float) -> Any:
        """The network, on the GPU."""
        torch.manual_seed(1)
        sizes = dict(SIZES[self.size])
        layers, rates = sizes.pop("layers"), ("dropout", "attention_dropout", "feed_forward_dropout")
        if self.model == "transformer_modern":
            sizes["feed_forward"] = sizes["feed_forward"] * 11 // 16
        arch = {
            "encoder_layers": layers,
            "decoder_layers": layers,
            "tied_embeddings": "all",
            "initialisation": {"kind": "normal", "std": 0.02},
            **dict.fromkeys(rates, dropout),
            **sizes,
        }
        found = interface.find(self.model)
        return found.Model(found.Arch.model_validate(arch), source_size=PIECES, target_size=PIECES).to(device.best())

    def captured(self, net: Any, *, compiled: bool) -> CapturedHidden:
        """Put a captured `hidden` in place of the network's."""
        torch._dynamo.reset()
        hidden = CapturedHidden(net, CudaGraphs(), (self.positions // max(FIRST), *FIRST), compiled=compiled)
        net.hidden = hidden
        return hidden

    def updates(self, number: int, *, few_shapes: bool) -> Iterator[GlobalBatch]:
        """So many updates, of one micro-batch each."""
        training = section(number, self.positions)
        learning = Learning.model_validate(LEARNING)
        if not few_shapes:
            yield from load_batches(BatchSampler(self.pairs, training, learning.batches), self.pairs, START, number)
            return
        sampler = FewShapesSampler(self.pairs, training, learning.batches)
        for update in load_batches(sampler, self.pairs, START, number):
            filled = {index: fill(batch, self.positions) for index, batch in update.micro_batches.items()}
            yield update._replace(micro_batches=filled)


def main(
    model: Annotated[str, typer.Option(help="A Transformer.")] = "transformer_prenorm",
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
    contest = Contest(model, size, positions)
    print(f"{describe()}; {model} {size}, updates of {positions} positions\n")
    for compiled in (False, True):
        loss, gradient = distances(contest, compiled=compiled)
        print(
            f"{name(compiled)}: relative distance of losses {loss:.1e}, of whole gradients {gradient:.1e}", flush=True
        )
    print("\n| | target tokens/s | ms an update | tokens an update | GiB reserved | captures | s for them |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for way in (None, False, True):
        print(row(contest, warm_up, updates, compiled=way), flush=True)


def name(compiled: bool | None) -> str:
    """What a row or line calls it."""
    return {None: "as it is", False: "graphs", True: "graphs of compiled layers"}[compiled]


def distances(contest: Contest, *, compiled: bool, number: int = 4) -> tuple[float, float]:
    """The largest relative distance of a few losses from the network's, and of a micro-batch's whole gradient."""
    learning = Learning.model_validate(LEARNING | {"precision": "fp32"})
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


def row(contest: Contest, warm_up: int, updates: int, *, compiled: bool | None) -> str:
    """A line of the table."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    net, learning = contest.network(dropout=0.1), Learning.model_validate(LEARNING)
    hidden = None if compiled is None else contest.captured(net, compiled=compiled)
    capturing = [0.0]
    if hidden:
        hidden.find_capture = timed(hidden.find_capture, capturing, hidden.captures)  # type: ignore[method-assign]
    total = warm_up + updates
    feed = prefetched(contest.updates(total, few_shapes=compiled is not None), pinned=True)
    optimizer, width = learning.optimizer.build(net), SIZES[contest.size]["width"]
    steps = train(net, optimizer, feed, learning, width=width, updates=total, seed=1, ranks=Ranks())
    for _ in itertools.islice(steps, warm_up):
        pass
    torch.cuda.synchronize()
    before, began = capturing[0], time.perf_counter()
    tokens = sum(step.tokens for step in steps)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began - (capturing[0] - before)
    gib = torch.cuda.max_memory_reserved() / 2**30
    cells = f"{tokens / seconds:,.0f} | {1000 * seconds / updates:.1f} | {tokens / updates:,.0f} | {gib:.1f}"
    return f"| {name(compiled)} | {cells} | {len(hidden.captures) if hidden else 0} | {capturing[0]:.0f} |"


def timed(find: Callable[..., Any], seconds: list[float], captures: dict[Any, Any]) -> Callable[..., Any]:
    """The same function; the seconds of a call that makes a capture are added to `seconds[0]`."""

    def found(source: Tensor, target_input: Tensor) -> Any:
        began, number = time.perf_counter(), len(captures)
        capture = find(source, target_input)
        if len(captures) > number:
            torch.cuda.synchronize()
            seconds[0] += time.perf_counter() - began
        return capture

    return found


def make_pairs(number: int = PAIRS) -> Encoded:
    """Pairs of random pieces; source lengths are lognormal about 23, targets about as long."""
    random = np.random.default_rng(1)
    source = np.clip(random.lognormal(np.log(23), 0.55, number), 1, LONGEST).astype(np.int64)
    target = np.clip(source * 1.05 * random.lognormal(0, 0.15, number), 1, LONGEST).astype(np.int64)

    def side(lengths: Any) -> Ragged:
        pieces = random.integers(4, PIECES, lengths.sum()).astype(np.uint16)
        return Ragged(pieces, np.concatenate(([0], np.cumsum(lengths))))

    return Encoded(side(source), side(target))


def section(updates: int, positions: int) -> Training:
    """A training in which every micro-batch is an update."""
    return Training(
        updates=updates,
        tokens_per_update=1,
        tokens_per_batch=positions,
        pool_pairs=100_000,
        max_length=1000,
        validation_interval=1,
        validation_sentences=0,
        patience=0,
        checkpoint_interval=1,
        last_checkpoints=1,
        best_checkpoints=0,
        exact=True,
        threads=0,
        seed=1,
    )


if __name__ == "__main__":
    typer.run(main)
