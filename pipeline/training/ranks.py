"""Data-parallel training: the processes (ranks) of one training and their collective operations."""

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
from torch import Tensor, distributed
from torch.distributed.rendezvous import rendezvous

T = TypeVar("T")

TIMEOUT = timedelta(hours=2)  # of a collective: the others wait while rank 0 writes a checkpoint
GRACE_SECONDS = 5.0  # for the first rank that failed to report why, before the others exit


class RanksError(ValueError):
    """The processes cannot train together: too many, not the same, or one has ended."""


class Ranks:
    """This process's `rank` among `size`, and the collective operations; all of them are no-ops if `size` is 1.

    All ranks compute the same function of the same files, each on its shard of the micro-batches; only losses,
    gradients and validation scores are exchanged. Rank 0 logs and writes.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.is_main = rank == 0
        self.shard = slice(rank, None, size)  # of a list of micro-batches, what this rank computes
        self.interrupted = False  # this process was asked to stop
        self.should_stop = False  # any process was; set by a collective, so on all ranks at once
        self.exact = False  # see `be_exact`

    def be_exact(self, exact: bool) -> None:
        """Choose whether `all_reduce` rounds as one process alone would.

        Raises: RanksError if their number is no power of two.
        """
        if exact and self.size & (self.size - 1):
            raise RanksError(
                f"training.exact: must be false for this number of processes, got {self.size}; "
                "expected 1, 2, 4, 8 ..., by the environment variable TRAIN_PROCESSES"
            )
        self.exact = exact

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Sum every tensor over all ranks, in place, and update `should_stop`; all are fp32, on one device.

        If `exact`, by `pairwise`, else in an order of the backend's choice, which shows in the rounding.
        """
        if self.size == 1:
            self.should_stop = self.interrupted
            return
        flag = torch.full((1,), float(self.interrupted), device=tensors[0].device)
        flat = torch.cat([flag, *(tensor.reshape(-1) for tensor in tensors)])
        with collective_errors():
            if self.exact:
                self.pairwise(flat)
            else:
                distributed.all_reduce(flat)
        for tensor, total in zip(tensors, torch.split(flat[1:], [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))
        self.should_stop = bool(flat[0].item() > 0)

    def pairwise(self, flat: Tensor) -> None:
        """Sum a tensor over all ranks, a power of two, in place, by the same tree as `gradients.tree_sum`.

        Source: Rabenseifner 2004, recursive halving and doubling. In round 1 ranks r and r + size / 2 each add the
        other's half of the tensor to their own, in round 2 r and r + size / 4 do so with the halves of these, and so on
        until every rank has the sum of its share; the same rounds backwards give every share to all ranks. A process
        sends as much as in a ring.
        """
        part, rounds, distance = flat, [], self.size // 2
        while distance:
            halves = part.tensor_split(2)
            own, other = reversed(halves) if self.rank & distance else halves
            received = torch.empty_like(own)
            exchange(other, received, self.rank ^ distance)
            own += received
            rounds.append((own, other, self.rank ^ distance))
            part, distance = own, distance // 2
        for own, other, peer in reversed(rounds):
            exchange(own, other, peer)

    def all_gather(self, results: Sequence[T]) -> list[T]:
        """The results of all ranks for their shards of a list, in the list's order; updates `should_stop`."""
        parts: list[Any] = [(self.interrupted, list(results))] * self.size
        if self.size > 1:
            with collective_errors():
                distributed.all_gather_object(parts, parts[0])
        self.should_stop = any(interrupted for interrupted, _ in parts)
        shards = [iter(shard) for _, shard in parts]
        return [next(shards[index % self.size]) for index in range(sum(len(shard) for _, shard in parts))]

    def barrier(self) -> None:
        """Return once every rank has called it."""
        self.all_gather([])

    def broadcast(self, data: T) -> T:
        """Rank 0's `data`, on every rank; the others' argument is ignored."""
        objects = [data]
        if self.size > 1:
            with collective_errors():
                distributed.broadcast_object_list(objects, src=0)
        return objects[0]

    def broadcast_weights(self, weights: Iterable[Tensor]) -> None:
        """Replace every weight by rank 0's: another kind of processor may round the same seed's draws differently."""
        if self.size > 1:
            with collective_errors():
                for weight in weights:
                    distributed.broadcast(weight.detach(), src=0)

    def check_equal(self, value: str, what: str, expected: str) -> None:
        """Check that all ranks have the same value.

        Raises: RanksError naming `what`, the values that differ, and what is `expected`.
        """
        if len(values := set(self.all_gather([value]))) > 1:
            raise RanksError(f"{what}: got {' and '.join(sorted(values))}; expected {expected}")


def exchange(sent: Tensor, received: Tensor, peer: int) -> None:
    """Send a tensor to a rank and fill another with what that rank sends."""
    operations = [
        distributed.P2POp(distributed.isend, sent, peer),
        distributed.P2POp(distributed.irecv, received, peer),
    ]
    for request in distributed.batch_isend_irecv(operations):
        request.wait()


@contextmanager
def collective_errors() -> Iterator[None]:
    """Report an error of a collective operation as the end of another process."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise RanksError(
            f"another process of this training has ended ({str(error).splitlines()[0][:120]}); expected all of them to "
            "run to the end: look for the reason on its machine, or repeat the command to go on"
        ) from error


@contextmanager
def process_group() -> Iterator[Ranks]:
    """The process group that torchrun started, or this process alone.

    SIGTERM or Ctrl-C asks all ranks to stop after the current update; a single process ends at once on a second Ctrl-C.
    If one rank fails, all end, and only the first to fail reports why.
    """
    single = "RANK" not in os.environ
    ranks = Ranks() if single else Ranks(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))

    def interrupt(*_: object) -> None:
        ranks.interrupted = True
        if single:  # torchrun's ranks have sessions of their own: their launcher gets Ctrl-C and passes it on
            signal.signal(signal.SIGINT, signal.default_int_handler)

    heard = [number for number in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, interrupt) for number in heard}
    try:
        if single:
            yield ranks
        else:
            yield from distributed_group(ranks)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def distributed_group(ranks: Ranks) -> Iterator[Ranks]:
    """The ranks, once all have connected; ends this process afterwards, with the status the training had."""
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    store, _, _ = next(rendezvous("env://"))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=store, rank=ranks.rank, world_size=ranks.size, timeout=TIMEOUT)
    status = 1
    # After the caller has reported an error; without closing connections, which made gloo abort in about one of thirty
    # trainings (`terminate called without an active exception`).
    atexit.register(lambda: exit_now(status))
    try:
        yield ranks
        ranks.barrier()
        status = 0
    except SystemExit as end:  # raised on all ranks alike
        status = int(end.code or 0)
        raise
    except Exception as error:
        try:
            is_first = store.add("failed", 1) == 1
        except RuntimeError:  # the launcher that held the store has ended too
            is_first = True
        if not is_first:
            time.sleep(GRACE_SECONDS)  # meanwhile the launcher asks this process to end if the first is one of its own
            if not ranks.interrupted and os.environ["LOCAL_RANK"] == "0":
                print(f"error: {error}", file=sys.stderr)
            exit_now(1)
        raise


def exit_now(status: int) -> None:
    """End this process, with what it has printed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
