"""One verdict a process on MLflow's store: how long it is still waited for, and whether it was given up."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

WAIT_SECONDS = 15.0  # so long a stage waits in all for a store that does not get on
ANSWER_SECONDS = 9.0  # at least so long of them for the store itself, however long our own work took
OWN_SECONDS = 120.0  # more for importing mlflow and creating a store: 5 s on an idle machine, while the stage works
CALL_SECONDS = (
    1.0  # a call that a server answered costs nothing if it took no longer, and one more per BYTES_PER_SECOND
)
BYTES_PER_SECOND = 5_000_000


class Patience:
    """Counts the seconds in which the stage waits for the store, and gives back those in which the store got on."""

    def __init__(self) -> None:
        self._left = WAIT_SECONDS
        self._allowed = self._waited = 0.0  # of what the store is doing now
        self._lock, self._over = threading.Lock(), threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether the store was given up."""
        return self._over.is_set()

    def give_up(self) -> bool:
        """Give the store up for the rest of this process; whether nobody had done so before."""
        with self._lock:
            first = not self._over.is_set()
            self._over.set()
        return first

    @contextlib.contextmanager
    def own_work(self) -> Iterator[None]:
        """A block that asks no server for anything and ends by itself."""
        with self._lock:
            self._allowed = OWN_SECONDS
        yield
        with self._lock:
            self._left = max(self._left, min(ANSWER_SECONDS, WAIT_SECONDS))
            self._allowed = self._waited = 0.0

    def expect(self, num_bytes: int) -> None:
        """Allow for the time that so many bytes take to be sent."""
        with self._lock:
            self._allowed = num_bytes / BYTES_PER_SECOND

    def answered(self, *, local: bool) -> None:
        """The store has done what it was asked for. A local one may take its time over it: it cannot fall silent."""
        with self._lock:
            late = 0.0 if local else max(0.0, self._waited - self._allowed)
            self._left += self._waited - (late if late > CALL_SECONDS else 0.0)
            self._allowed = self._waited = 0.0

    def wait(self, done: threading.Event) -> bool:
        """Wait until `done`; False if patience runs out first."""
        before = time.monotonic()
        while not done.wait(0.05):
            now = time.monotonic()
            passed = min(now - before, 1.0)  # a process that was stopped (Ctrl-Z) did not wait
            before = now
            with self._lock:
                self._left -= passed
                self._waited += passed
                if self._left + self._allowed <= 0:
                    return False
        return True


class Watched:
    """A client of MLflow; each call that comes back is one in which the store got on."""

    def __init__(self, client: Any, patience: Patience, *, local: bool) -> None:
        self._client, self._patience, self._local = client, patience, local

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            answer = getattr(self._client, name)(*given, **named)
            self._patience.answered(local=self._local)
            return answer

        return call
