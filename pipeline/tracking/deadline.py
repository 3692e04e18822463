"""How long this process still waits for MLflow's store, and whether it has given the store up."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

WAIT_SECONDS = 15.0  # that a stage waits in total for a store that makes no progress
ANSWER_SECONDS = 9.0  # of these at least remain for the store, however long our own work took
OWN_SECONDS = 120.0  # in addition, to import mlflow and create a store: 5 s on an idle machine, in the background
CALL_SECONDS = 1.0  # an answered call this short, beyond the time to send its bytes, is not counted
BYTES_PER_SECOND = 5_000_000


class Deadline:
    """Counts down the seconds that the stage waits for the store; answered calls give theirs back."""

    def __init__(self) -> None:
        self._left = WAIT_SECONDS
        self._allowed = self._waited = 0.0  # for the call in progress
        self._lock, self._over = threading.Lock(), threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether the store has been given up."""
        return self._over.is_set()

    def give_up(self) -> bool:
        """Give the store up for the rest of this process; returns whether this call was the first to do so."""
        with self._lock:
            first = not self._over.is_set()
            self._over.set()
        return first

    @contextlib.contextmanager
    def own_work(self) -> Iterator[None]:
        """A block that asks no server for anything and always ends."""
        with self._lock:
            self._allowed = OWN_SECONDS
        try:
            yield
        finally:
            with self._lock:
                self._left = max(self._left, min(ANSWER_SECONDS, WAIT_SECONDS))
                self._allowed = self._waited = 0.0

    def expect(self, num_bytes: int) -> None:
        """Allow the time that sending this many bytes takes."""
        with self._lock:
            self._allowed = num_bytes / BYTES_PER_SECOND

    def answered(self, *, local: bool) -> None:
        """Record that the store has answered. A local store may take any time: it cannot stop responding."""
        with self._lock:
            late = 0.0 if local else max(0.0, self._waited - self._allowed)
            self._left += self._waited - (late if late > CALL_SECONDS else 0.0)
            self._allowed = self._waited = 0.0

    def wait(self, done: threading.Event) -> bool:
        """Wait until `done`; False if the time runs out first."""
        before = time.monotonic()
        while not done.wait(0.05):
            now = time.monotonic()
            passed = min(now - before, 1.0)  # while stopped by Ctrl-Z, the process did not wait
            before = now
            with self._lock:
                self._left -= passed
                self._waited += passed
                if self._left + self._allowed <= 0:
                    return False
        return True


class WatchedClient:
    """MLflow's client; records each answered call with the deadline."""

    def __init__(self, client: Any, deadline: Deadline, *, local: bool) -> None:
        self._client, self._deadline, self._local = client, deadline, local

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            answer = getattr(self._client, name)(*given, **named)
            self._deadline.answered(local=self._local)
            return answer

        return call
