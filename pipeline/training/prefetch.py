"""Making the next batches while the present one is computed."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from pipeline.encoding.batching import Update

AHEAD = 2  # updates whose batches are made before their turn


def prefetched(updates: Iterable[Update], *, pinned: bool) -> Iterator[Update]:
    """The updates in their order, made by a thread that is `AHEAD` of them ahead; for a GPU their batches `pinned`.

    What goes wrong in the thread is raised here, in its place.
    """
    source = iter(updates)

    def following() -> Update | None:
        update = next(source, None)
        if update is None or not pinned:
            return update
        return update._replace(batches={index: batch.pinned() for index, batch in update.batches.items()})

    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    try:
        waiting = deque(thread.submit(following) for _ in range(AHEAD))
        while (update := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(following))
            yield update
    finally:
        thread.shutdown(cancel_futures=True)
