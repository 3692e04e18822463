"""The processes of one training: who does which micro-batch, and what they add up, decide once and tell each other."""

import atexit
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.distributed.rendezvous import rendezvous

T = TypeVar("T")

TIMEOUT = timedelta(hours=2)  # longer than rank 0 alone takes over a checkpoint or a vocabulary
SILENT_SECONDS = 5.0  # in which the first rank to fail says why


class LostRankError(ValueError):
    """Another process of the training has ended."""


class UnlikeRanksError(ValueError):
    """Processes that do not compute the same training."""


class Ranks:
    """The processes of one training, this one being number `rank` of `size`; rank 0 leads: it logs and it writes.

    What every rank computes is the same function of the training's files, but for the micro-batches that it shares
    out: so nothing but their losses, their gradients and what validation found has to travel.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.interrupted = False  # whether this process was asked to end
        self.stopping = False  # whether any was, and all know

    @property
    def leads(self) -> bool:
        """Whether this process logs and writes."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """Which of a list of micro-batches are this rank's."""
        return slice(self.rank, None, self.size)

    def add_up(self, loss: Tensor, weights: Iterable[nn.Parameter]) -> None:
        """Replace the loss and every weight's gradient by their sums over all ranks; all learn of an interruption.

        The order of the sum depends on the number of ranks, and so do the last bits of it.
        """
        if self.size == 1:
            self.stopping = self.interrupted
            return
        given = list(weights)
        for weight in given:
            if weight.grad is None:  # this rank had no micro-batch
                weight.grad = torch.zeros_like(weight)
        tensors = [loss, *(weight.grad for weight in given if weight.grad is not None)]
        flag = torch.full((1,), float(self.interrupted), device=loss.device)
        flat = torch.cat([flag, *(tensor.reshape(-1) for tensor in tensors)])
        with losing_peers():
            distributed.all_reduce(flat)
        for tensor, total in zip(tensors, torch.split(flat[1:], [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))
        self.stopping = bool(flat[0].item() > 0)

    def collect(self, mine: Sequence[T]) -> list[T]:
        """What all ranks made of their shares of a list, in the list's order."""
        if self.size == 1:
            self.stopping = self.interrupted
            return list(mine)
        parts: list[Any] = [None] * self.size
        with losing_peers():
            distributed.all_gather_object(parts, (self.interrupted, list(mine)))
        self.stopping = any(interrupted for interrupted, _ in parts)
        shares = [iter(share) for _, share in parts]
        return [next(shares[index % self.size]) for index in range(sum(len(share) for _, share in parts))]

    def tell(self, data: bytes | None) -> bytes | None:
        """What rank 0 has, on every rank; the others' `data` is not looked at."""
        if self.size == 1:
            return data
        told = [data]
        with losing_peers():
            distributed.broadcast_object_list(told, src=0)
        return told[0]

    def start_alike(self, weights: Iterable[Tensor]) -> None:
        """Replace every weight by rank 0's: another kind of processor may draw other last bits of the same seed."""
        if self.size > 1:
            with losing_peers():
                for weight in weights:
                    distributed.broadcast(weight.detach(), src=0)

    def agree(self, value: str, what: str, expected: str) -> None:
        """Nothing, where all ranks have the same value.

        Raises: UnlikeRanksError that names the ranks which have another one than rank 0, and what is `expected`.
        """
        first, *others = values = self.collect([value])
        if any(other != first for other in others):
            found = ", ".join(f"{got!r} on rank {rank}" for rank, got in enumerate(values) if got != first)
            raise UnlikeRanksError(f"{what}: got {found} and {first!r} on rank 0; expected {expected}")


@contextmanager
def losing_peers() -> Iterator[None]:
    """A collective operation, which fails where a process has ended."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        first = next(iter(str(error).splitlines()), "")
        raise LostRankError(
            f"another process of this training has ended ({first[:120]}); expected all of them to the end: "
            "unless its own machine says more, repeat the command, which goes on from the newest checkpoint"
        ) from error


@contextmanager
def join() -> Iterator[Ranks]:
    """This process's place among those that torchrun started, or alone where it did not.

    SIGTERM or Ctrl-C asks all of them to end after the update under way; where there is one, a second Ctrl-C ends it
    at once. Where one fails all do, and the first to fail alone says why.
    """
    alone = "RANK" not in os.environ
    ranks = Ranks() if alone else Ranks(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))

    def interrupt(*_: object) -> None:
        ranks.interrupted = True
        if alone:  # several have sessions of their own: their launcher hears Ctrl-C, and passes it on
            signal.signal(signal.SIGINT, signal.default_int_handler)

    heard = [number for number in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        if alone:
            yield ranks
        else:
            yield from joined(ranks)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def joined(ranks: Ranks) -> Iterator[Ranks]:
    """The ranks, once all of them have met."""
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    store, _, _ = next(rendezvous("env://"))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=store, rank=ranks.rank, world_size=ranks.size, timeout=TIMEOUT)
    try:
        yield ranks
        with losing_peers():
            distributed.barrier()
    except SystemExit as end:  # which all ranks have agreed on
        leave(int(end.code or 0))
    except LostRankError as error:
        time.sleep(SILENT_SECONDS)  # if the process that ended was its own, the launcher asks this one to end meanwhile
        if not ranks.interrupted and os.environ["LOCAL_RANK"] == "0":  # another machine's: said once on this one
            print(f"error: {error}", file=sys.stderr)
        leave(1)  # without waiting for what no rank will answer
    except Exception:
        if not is_first_to_fail(store):
            time.sleep(SILENT_SECONDS)
            leave(1)
        atexit.register(leave, 1)  # once it has said why
        raise
    leave(0)


def leave(status: int) -> None:
    """End this process, whose work is done, without taking its connections down.

    gloo now and then ended in `terminate called without an active exception` there (one of about thirty trainings).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def is_first_to_fail(store: Any) -> bool:
    """Whether no other rank has failed, as far as is known."""
    try:
        return int(store.add("failed", 1)) == 1
    except RuntimeError:  # the launcher that held it has gone too
        return True
