"""How much a request, a client and the queue may hold."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.serving.errors import ServingError

FORM_BYTES = 12  # of a character beyond the basic plane in a form (%F0%9F%98%80) and in JSON (\ud83d\ude00)
OVERHEAD_BYTES = 64 << 10  # names of fields, braces, quotes
MINUTE = 60.0
REMEMBERED = 10_000  # clients whose rates are kept for longer than a minute
MOST_REMEMBERED = 10 * REMEMBERED


@dataclass(frozen=True)
class Limits:
    """The limits that the command line sets."""

    characters: int = 100_000  # of all texts of a request
    sentence_characters: int = 5_000
    texts: int = 1_000  # of a request
    alternatives: int = 9
    queue: int = 10_000  # sentences that wait
    timeout_seconds: float = 60.0  # for a request; of a stream, for each sentence
    at_once: int = 100  # requests of one client
    requests_per_minute: int | None = None  # of one client; None: any number

    @property
    def body_bytes(self) -> int:
        """The longest body that a request within the limits can have."""
        return FORM_BYTES * self.characters + OVERHEAD_BYTES


@dataclass
class Client:
    """What one client has under way, and how many requests it may begin now."""

    at_once: int = 0
    allowance: float = 0.0
    seen: float = field(default=0.0)


class Clients:
    """The clients of a server, each by its key or its address."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits, self.clock = limits, clock
        self.known: dict[str, Client] = {}
        self.swept = -MINUTE  # when those long gone were last forgotten

    def enter(self, name: str) -> None:
        """Count a request that begins; `leave` must follow.

        Raises: ServingError (429) if the client has too many under way, or began too many in the last minute.
        """
        limits, now = self.limits, self.clock()
        client = self.client(name, now)
        if client.at_once >= limits.at_once:
            raise ServingError(
                429, f"client: too many requests at once, got {client.at_once + 1}; expected {limits.at_once}", 1
            )
        if (rate := limits.requests_per_minute) is not None:
            client.allowance = min(float(rate), client.allowance + (now - client.seen) * rate / MINUTE)
            client.seen = now
            if client.allowance < 1:
                wait = math.ceil((1 - client.allowance) * MINUTE / rate)
                raise ServingError(429, f"client: too many requests; expected {rate} a minute", wait)
            client.allowance -= 1
        client.at_once += 1

    def leave(self, name: str) -> None:
        """Count a request that has ended."""
        client = self.known[name]
        client.at_once -= 1
        if self.limits.requests_per_minute is None and not client.at_once:
            del self.known[name]

    def client(self, name: str, now: float) -> Client:
        """The client of this name; those with nothing under way for a minute are forgotten when there are many.

        When there are very many, so is the one that came first.
        """
        if name not in self.known:
            if len(self.known) >= REMEMBERED and now - self.swept >= MINUTE:
                self.swept = now
                self.known = {
                    one: client for one, client in self.known.items() if client.at_once or now - client.seen < MINUTE
                }
            if len(self.known) >= MOST_REMEMBERED:
                del self.known[next(one for one, client in self.known.items() if not client.at_once)]
            self.known[name] = Client(allowance=float(self.limits.requests_per_minute or 0), seen=now)
        return self.known[name]
