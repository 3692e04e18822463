"""Searches side by side: on a CPU each has a batch, and some of the threads."""

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

import torch

from pipeline.models.interface import Model

T = TypeVar("T")
R = TypeVar("R")

MOST = 4  # at once: each holds a batch, and between two products they wait for each other


def searched(search: Callable[[Model, T], R], model: Model, batches: Sequence[T], device: torch.device) -> Iterator[R]:
    """`search(model, batch)` of each batch, in their order; as many at once as torch has threads, `MOST` at most.

    Where several are under way each has a network of its own, with the weights of `model`; one alone has `model`
    itself. A network is `searching` all the while, and no weight may change until the last result is taken. What goes
    wrong in one is raised in its place, and those not begun then are left out.
    """
    threads = torch.get_num_threads()
    number = min(threads, MOST, len(batches)) if device.type == "cpu" else 1
    if number <= 1:
        with model.searching():
            yield from (search(model, batch) for batch in batches)
        return
    own = threading.local()
    with ExitStack() as stack:
        idle = [twin(model) for _ in range(number)]
        for net in idle:
            stack.enter_context(net.searching())

        def begin() -> None:
            torch.set_num_threads(threads // number)  # of this thread's products
            own.model = idle.pop()

        pool = ThreadPoolExecutor(number, "search", begin)
        try:
            yield from pool.map(lambda batch: search(own.model, batch), batches)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # of threads that begin later


def twin(model: Model) -> Model:
    """Another network with the very weights of this one: what a search keeps in its layers is the search's own."""
    return copy.deepcopy(model, {id(weight): weight for weight in (*model.parameters(), *model.buffers())})
