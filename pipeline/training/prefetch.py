"""Loads the next batches in a thread while the current one is computed."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from .batching import GlobalBatch

AHEAD = 2  # global batches loaded in advance


def prefetch(batches: Iterable[GlobalBatch], *, pinned: bool) -> Iterator[GlobalBatch]:
    """The batches, loaded by a thread `AHEAD` of the caller; for a GPU in `pinned` memory.

    An error in the thread is raised here, in place of the batch.
    """
    source = iter(batches)

    def load() -> GlobalBatch | None:
        batch = next(source, None)
        if batch is None or not pinned:
            return batch
        return batch._replace(micro_batches={index: micro.pinned() for index, micro in batch.micro_batches.items()})

    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    try:
        waiting = deque(thread.submit(load) for _ in range(AHEAD))
        while (batch := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(load))
            yield batch
    finally:
        thread.shutdown(cancel_futures=True)
