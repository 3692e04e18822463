"""Several searches at once on a CPU, each with its own batch and its share of the threads."""

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

import torch

from pipeline.models.interface import Model, prepacking

T = TypeVar("T")
R = TypeVar("R")

MAX_SEARCHES = 4  # at once: each holds a batch in memory


def search_batches(
    search: Callable[[Model, T], R], model: Model, batches: Sequence[T], device: torch.device
) -> Iterator[R]:
    """`search(model, batch)` of each batch, in the order of `batches`.

    On a CPU as many run at once as torch has threads, `MAX_SEARCHES` at most. Then each has a network of its own, which
    shares the weights of `model`. All networks are prepacked, so no weight may change until the last result is taken.
    An error is raised in place of its result, and searches not yet started are dropped.
    """
    threads = torch.get_num_threads()
    number = min(threads, MAX_SEARCHES, len(batches)) if device.type == "cpu" else 1
    if number <= 1:
        with prepacking(model):
            yield from (search(model, batch) for batch in batches)
        return
    local = threading.local()
    with ExitStack() as stack:
        networks = [share_weights(model) for _ in range(number)]
        for network in networks:
            stack.enter_context(prepacking(network))

        def set_up() -> None:
            torch.set_num_threads(threads // number)  # of this thread's products
            local.model = networks.pop()

        pool = ThreadPoolExecutor(number, "search", set_up)
        try:
            yield from pool.map(lambda batch: search(local.model, batch), batches)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # of threads that start later


def share_weights(model: Model) -> Model:
    """Another network with the same weight tensors, but layers of its own, which keep what they prepack."""
    return copy.deepcopy(model, {id(weight): weight for weight in (*model.parameters(), *model.buffers())})
