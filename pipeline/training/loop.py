"""The training loop: updates of micro-batches in, one `Step` out per update."""

import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, NoReturn

import torch
from torch import Tensor, nn

from pipeline.device import has_bf16
from pipeline.encoding.batching import Batch, Position, Update
from pipeline.models.interface import Model
from pipeline.seeding import seed_for
from pipeline.training.learning import Learning
from pipeline.training.loss import smoothed_cross_entropy
from pipeline.training.ranks import Ranks

# Target positions that are scored at a time: on a CPU 8,000 pieces of each are 16 MB of bf16; a GPU wants larger
# products, and there the loss holds two copies in fp32, of 0.5 GB each for 32,000 pieces. A recurrent model draws
# dropout's mask for each such block, so that its training changes with the number.
ROWS = {"cpu": 1024, "cuda": 4096}


class DivergedError(ValueError):
    """The loss or the gradient is no number any more."""


class Step(NamedTuple):
    """What one update did."""

    position: Position  # where it stood
    loss: float  # nats per target token, smoothed as trained
    grad_norm: float  # before clipping
    tokens: int  # target tokens, EOS included
    learning_rate: float
    real: int  # source and target positions that hold a piece
    computed: int  # all source and target positions, padding included

    @property
    def update(self) -> int:
        """Number of the update, from 1."""
        return self.position.update

    def measures(self) -> dict[str, float]:
        """What is logged of it, by name."""
        return {
            "train_loss": self.loss,
            "train_perplexity": math.exp(min(self.loss, 700.0)),
            "grad_norm": self.grad_norm,
            "learning_rate": self.learning_rate,
            "tokens": self.tokens,
            "padding_share": 1 - self.real / self.computed,
        }


def train(
    model: Model,
    optimizer: torch.optim.Optimizer,
    updates: Iterable[Update],
    learning: Learning,
    *,
    width: int,
    last: int,
    seed: int,
    ranks: Ranks,
) -> Iterator[Step]:
    """Update `model` in place, yielding after each of `updates`, so that the caller may log, save or stop.

    The gradient is that of the mean loss over all target tokens of the update, however they are cut into micro-batches
    and whichever of the ranks did them; dropout draws from (seed, update, micro-batch). Learning rates
    are those of a model of `width` whose training ends with update `last`.
    Raises: DivergedError naming update and micro-batches where loss or gradient is no finite number.
    """
    device = next(model.parameters()).device
    for position, batches, tokens, real, computed in updates:
        update = position.update
        model.train()
        parts = {}
        for index, batch in batches.items():
            torch.manual_seed(seed_for(seed, "dropout", update, index))
            parts[index] = add_gradient(model, batch.to(device), learning, tokens)
        total = sum(parts.values(), torch.zeros((), device=device))
        ranks.add_up(total, model.parameters())
        rate = learning.schedule.rate(update, width=width, updates=last)
        for group in optimizer.param_groups:
            group["lr"] = rate
        largest = math.inf if learning.clip is None else learning.clip
        loss, norm = torch.stack((total, nn.utils.clip_grad_norm_(model.parameters(), largest))).tolist()
        if not math.isfinite(loss + norm):  # on all ranks alike
            every = ranks.collect([(part.item(), batches[index]) for index, part in parts.items()])
            diverged(update, every, {"loss": loss, "gradient norm": norm})
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield Step(position, loss, norm, tokens, rate, real, computed)


def add_gradient(model: Model, batch: Batch, learning: Learning, tokens: int) -> Tensor:
    """The training loss over the micro-batch's real target tokens, in nats, divided by `tokens`; its gradient is added.

    Positions are scored in blocks, and the gradient of each block taken back to what the projection read before the
    next: scores of all of them would be larger than all else.
    """
    device, smoothing, spread = batch.source.device, learning.label_smoothing, learning.smoothing_spread
    with autocast(learning.precision, device):
        hidden, targets = real_hidden(model, batch)
    rows = ROWS[device.type]
    parts = [part.requires_grad_() for part in torch.split(hidden.detach(), rows)]
    loss = torch.zeros((), device=device)
    for part, gold in zip(parts, torch.split(targets, rows), strict=True):
        with autocast(learning.precision, device):
            logits = model.logits(part)
        share = smoothed_cross_entropy(logits, gold, smoothing=smoothing, spread=spread) / tokens
        torch.autograd.backward(share)
        loss += share.detach()
    torch.autograd.backward(hidden, torch.cat([part.grad for part in parts if part.grad is not None]))
    return loss


def real_hidden(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """What the projection reads and the gold pieces, of the real target positions only: (N, D) and (N,)."""
    hidden = model.hidden(batch.source, batch.target_input).flatten(0, 1)
    return hidden.index_select(0, batch.real), batch.target_output.flatten().index_select(0, batch.real)


def autocast(precision: str, device: torch.device) -> AbstractContextManager[None]:
    """Matrix products in bf16 where `precision` says so."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=resolved(precision, device) == "bf16")


def resolved(precision: str, device: torch.device) -> str:
    """`fp32` or `bf16`; of `auto`, which of them is the quicker one there."""
    if precision == "auto":
        return "bf16" if has_bf16(device) else "fp32"
    return precision


def diverged(update: int, parts: list[tuple[float, Batch]], found: dict[str, float]) -> NoReturn:
    """Stop, naming the first micro-batch whose loss is NaN or infinite; where none is, all, and what of them is.

    `parts` are the losses and batches of the update, `found` what they make together, by name.
    Raises: DivergedError.
    """
    broken = [index for index, (loss, _) in enumerate(parts) if not math.isfinite(loss)][:1]
    if broken:
        what, value = "loss", parts[broken[0]][0]
    else:
        what, value = next((what, value) for what, value in found.items() if not math.isfinite(value))
    named = broken or range(len(parts))
    where = ", ".join(f"micro-batch {index} (training pairs {some(parts[index][1])})" for index in named)
    raise DivergedError(
        f"update {update}, {where}: {what} is {value}; expected a finite number: lower the learning rate or clip harder"
    )


def some(batch: Batch) -> str:
    """The first five pairs, and whether there are more."""
    return ", ".join([*map(str, batch.pairs[:5]), *(["..."] if len(batch.pairs) > 5 else [])])
