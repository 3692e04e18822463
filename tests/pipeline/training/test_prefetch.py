"""Batches made ahead are the same batches in the same order, and so is what goes wrong."""

import threading
import time

import pytest

from pipeline.encoding.batching import Batch, BatchSampler, Position, load_batches
from pipeline.encoding.budget import TokenBatches
from pipeline.training import prefetch
from pipeline.training.prefetch import prefetched
from tests.toys import samples

PART = samples.encoded(samples.sentences(30, seed=1), samples.sentences(30, seed=2))


def updates(last=7):
    sampler = BatchSampler(PART, samples.training(), TokenBatches(kind="tokens"))
    return load_batches(sampler, PART, Position(1, 0, 0), last)


def seen(found):
    return [(one.position, *one[2:], [batch.source.tolist() for batch in one.micro_batches.values()]) for one in found]


@pytest.mark.parametrize("count", [1, 3, 20])
def test_the_same_in_the_same_order(count, monkeypatch):
    monkeypatch.setattr(prefetch, "AHEAD", count)
    assert seen(prefetched(updates(), pinned=False)) == seen(updates())
    assert list(prefetched(updates(0), pinned=False)) == []


def test_another_thread_is_as_far_ahead_as_said():
    made: list[str] = []

    def slowly():
        for update in updates():
            made.append(threading.current_thread().name)
            yield update

    found = prefetched(slowly(), pinned=False)
    next(found)
    until = time.monotonic() + 10
    while len(made) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(made) == 3  # the one that is used, and two
    assert all(name.startswith("prefetch") for name in made)
    found.close()
    assert len(made) <= 4  # but for one under way nothing more is made
    assert not any(thread.name.startswith("prefetch") for thread in threading.enumerate())


def test_what_goes_wrong_comes_in_its_place():
    def broken():
        yield from updates(2)
        raise ValueError("a cable")

    found = prefetched(broken(), pinned=False)
    assert [next(found).position.update for _ in range(2)] == [1, 2]
    with pytest.raises(ValueError, match=r"^a cable$"):
        next(found)


def test_pinned_batches_are_pinned(monkeypatch):
    monkeypatch.setattr(Batch, "pinned", lambda batch: batch._replace(pairs="pinned"))
    assert {batch.pairs for one in prefetched(updates(), pinned=True) for batch in one.micro_batches.values()} == {
        "pinned"
    }
