"""What one client may have: so many requests at once, so many a minute."""

import pytest
from pipeline.serving.errors import ServingError
from pipeline.serving.limits import Clients, Limits

from pipeline.serving import limits


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_body_within_the_limit_of_characters_fits():
    text = "\U0001f600" * 100
    assert max(len(text.encode("unicode_escape")), len("%F0%9F%98%80" * 100)) <= Limits(characters=100).body_bytes


def test_too_many_at_once_are_refused_until_one_ends():
    clients = Clients(Limits(at_once=2))
    clients.enter("a")
    clients.enter("a")
    clients.enter("b")
    with pytest.raises(ServingError, match=r"^client: too many requests at once, got 3; expected 2$") as refused:
        clients.enter("a")
    assert (refused.value.status, refused.value.retry_seconds) == (429, 1)
    clients.leave("a")
    clients.enter("a")


def test_a_client_without_a_request_is_forgotten():
    clients = Clients(Limits())
    clients.enter("a")
    clients.leave("a")
    assert clients.known == {}


def test_so_many_a_minute():
    clock = Clock()
    clients = Clients(Limits(requests_per_minute=6), clock)

    def ask(times):
        for _ in range(times):
            clients.enter("a")
            clients.leave("a")

    ask(6)
    with pytest.raises(ServingError, match=r"^client: too many requests; expected 6 a minute$") as refused:
        ask(1)
    assert (refused.value.status, refused.value.retry_seconds) == (429, 10)
    clock.now = 9.9
    with pytest.raises(ServingError):
        ask(1)
    clock.now = 10.1
    ask(1)
    clock.now = 1000
    ask(6)
    with pytest.raises(ServingError):
        ask(1)


def test_rates_of_clients_long_gone_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr(limits, "REMEMBERED", 3)
    clock = Clock()
    clients = Clients(Limits(requests_per_minute=10), clock)
    for name in "abc":
        clients.enter(name)
    clients.leave("a")
    clock.now = 61
    clients.enter("d")
    assert sorted(clients.known) == ["b", "c", "d"]


def test_no_number_of_clients_fills_the_memory(monkeypatch):
    monkeypatch.setattr(limits, "MOST_REMEMBERED", 3)
    clients = Clients(Limits(requests_per_minute=10), Clock())
    clients.enter("a")
    for name in "bcde":
        clients.enter(name)
        clients.leave(name)
    assert list(clients.known) == ["a", "d", "e"]
