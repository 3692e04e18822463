"""The training loop: the batches of each update in, one `Step` out per update."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from ..common.seeding import seed_for
from ..compute.device import has_bf16
from ..models.interface import Model
from .batching import Batch, GlobalBatch, Position
from .gradients import ZERO, pop_gradients, tree_sum
from .learning import Learning
from .loss import r_drop_loss, smoothed_cross_entropy
from .ranks import Ranks

# Target positions projected to logits at a time. On a CPU, 8,000 logits for each are 16 MB of bf16. A GPU needs larger
# products; there the loss holds two fp32 copies, 0.5 GB each for 32,000 pieces (with R-Drop seven in all). Recurrent
# models draw a dropout mask for each block, so these numbers are part of their results.
LOGIT_ROWS = {"cpu": 1024, "cuda": 4096}


class DivergedError(ValueError):
    """The loss or the gradient is not finite any more."""


@dataclass(frozen=True)
class Step:
    """One update: its position in the data and its metrics."""

    position: Position
    loss: float  # nats per target token, as trained: with label smoothing and R-Drop
    grad_norm: float  # before clipping
    tokens: int  # target tokens, EOS included, no padding
    learning_rate: float
    num_real_positions: int  # source and target positions that hold a piece
    num_positions: int  # all source and target positions, padding included
    seconds: float = field(default=0.0, compare=False)  # without what the caller did between two steps

    @property
    def update(self) -> int:
        """Number of the update, from 1."""
        return self.position.update

    def metrics(self) -> dict[str, float]:
        """Everything to log, by name."""
        return {
            "train_loss": self.loss,
            "grad_norm": self.grad_norm,
            "learning_rate": self.learning_rate,
            "tokens": self.tokens,
            "padding_share": 1 - self.num_real_positions / self.num_positions,
            "tokens_per_second": self.tokens / self.seconds,
        }


def train(
    model: Model,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[GlobalBatch],
    learning: Learning,
    *,
    width: int,
    updates: int,
    seed: int,
    ranks: Ranks,
) -> Iterator[Step]:
    """Update `model` in place, once per global batch; yields after each so that the caller may log, save or stop.

    The gradient is that of the mean loss over all target tokens of the update, in whatever micro-batches; dropout and
    teacher forcing are drawn for each of these, by (seed, update, micro-batch). How many ranks share them changes
    nothing if `ranks` are exact. The schedule of the learning rate reads `width` (of the model) and `updates` (the
    number of the last).
    Raises: DivergedError naming the update and its first pairs if loss or gradient is not finite.
    """
    weights = list(model.parameters())
    began = time.perf_counter()
    for position, micro_batches, tokens, num_real_positions, num_positions in batches:
        update = position.update
        model.train()
        seeds = partial(seed_for, seed, "dropout", update)
        sums = loss_and_gradients(model, micro_batches, learning, tokens, seeds)
        ranks.all_reduce(sums)
        total, *gradients = sums
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        rate = learning.schedule.rate(update, width=width, updates=updates)
        for group in optimizer.param_groups:
            group["lr"] = rate
        norm = nn.utils.clip_grad_norm_(weights, learning.clip or math.inf)
        loss, grad_norm = torch.stack((total, norm)).tolist()  # one sync with a GPU
        check_finite(update, micro_batches.values(), loss, grad_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds = time.perf_counter() - began
        yield Step(position, loss, grad_norm, tokens, rate, num_real_positions, num_positions, seconds)
        began = time.perf_counter()


def loss_and_gradients(
    model: Model, micro_batches: Mapping[int, Batch], learning: Learning, tokens: int, seeds: Callable[[int], int]
) -> list[Tensor]:
    """The sums over these micro-batches of the loss and, weight by weight, of the gradient.

    `seeds` gives the seed of a micro-batch's dropout. The weights keep no gradient.
    """
    weights = list(model.parameters())

    def compute(index: int) -> list[Tensor]:
        torch.manual_seed(seeds(index))
        loss = forward_backward(model, micro_batches[index].to(weights[0].device), learning, tokens)
        return [loss, *pop_gradients(weights)]

    if not micro_batches:
        return [torch.full((), ZERO, device=weights[0].device), *pop_gradients(weights)]
    return tree_sum(list(micro_batches), compute)


def forward_backward(model: Model, batch: Batch, learning: Learning, tokens: int) -> Tensor:
    """The micro-batch's summed training loss in nats, divided by `tokens`; its gradient is added to the weights' own.

    Logits are computed in blocks, each taken back to the projection's input before the next: all of them at once would
    need more memory than everything else together. With R-Drop every sentence passes twice (C = 2, else 1).
    """
    device, copies = batch.source.device, 2 if learning.r_drop else 1
    with autocast(learning.precision, device):
        hidden, targets = unpadded_hidden(model, batch.twice() if learning.r_drop else batch)
    rows, targets = LOGIT_ROWS[device.type] // copies, targets[: len(targets) // copies]
    passes = hidden.detach().view(copies, len(targets), -1)  # (C, N, D)
    parts = [part.requires_grad_() for part in torch.split(passes, rows, dim=1)]
    loss = torch.zeros((), device=device)
    for part, gold in zip(parts, torch.split(targets, rows), strict=True):
        with autocast(learning.precision, device):
            logits = model.logits(part.flatten(0, 1))
        block_loss = training_loss(logits, gold, learning) / tokens
        torch.autograd.backward(block_loss)
        loss += block_loss.detach()
    gradient = torch.cat([part.grad for part in parts if part.grad is not None], dim=1)
    torch.autograd.backward(hidden, gradient.flatten(0, 1))
    return loss


def training_loss(logits: Tensor, targets: Tensor, learning: Learning) -> Tensor:
    """The loss that a section chooses, summed over tokens: (C N, V), (N,) -> scalar."""
    smoothing, spread = learning.label_smoothing, learning.smoothing_spread
    if not learning.r_drop:
        return smoothed_cross_entropy(logits, targets, smoothing=smoothing, spread=spread)
    passes = logits.view(2, len(targets), -1)
    return r_drop_loss(passes, targets, smoothing=smoothing, spread=spread, weight=learning.r_drop)


def unpadded_hidden(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """The projection's input (N, D) and the gold pieces (N,) at the target positions that are not padding."""
    hidden = model.hidden(batch.source, batch.target_input).flatten(0, 1)
    targets = batch.target_output.flatten()
    return hidden.index_select(0, batch.non_padding), targets.index_select(0, batch.non_padding)


def autocast(precision: str, device: torch.device) -> AbstractContextManager[None]:
    """Autocast to bf16 if `precision` resolves to it, else a context that changes nothing."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=resolve_precision(precision, device) == "bf16")


def resolve_precision(precision: str, device: torch.device) -> str:
    """`fp32` or `bf16`; `auto` is bf16 if the device has instructions for it."""
    if precision == "auto":
        return "bf16" if has_bf16(device) else "fp32"
    return precision


def check_finite(update: int, batches: Iterable[Batch], loss: float, grad_norm: float) -> None:
    """Check what an update computed, before the optimizer spreads it over all weights.

    Raises: DivergedError naming the update and pairs of the training part that are in it.
    """
    if not math.isfinite(loss + grad_norm):
        pairs = [str(pair) for batch in batches for pair in batch.pairs[:3]]
        raise DivergedError(
            f"update {update} (training pairs {', '.join(pairs[:9])} ...): loss is {loss}, gradient norm {grad_norm}; "
            "expected finite numbers: lower the learning rate or clip harder"
        )
