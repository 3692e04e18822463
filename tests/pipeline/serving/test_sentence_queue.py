"""The queue: what goes together, in which order, how much, and what is dropped."""

import asyncio

import pytest
from pipeline.serving.errors import ServingError
from pipeline.serving.sentence_queue import BATCH, HEAD_START_SECONDS, WINDOW_SECONDS, SentenceQueue, Task

ONE, OTHER = Task("translate", "one"), Task("translate", "other")


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def on_queue(test, size=1000):
    """Run a test with a queue and its clock, in an event loop."""

    async def run():
        clock = Clock()
        await test(SentenceQueue(size, clock), clock)

    asyncio.run(run())


async def lines(queue):
    """The lines of the next batch."""
    return [sentence.line for sentence in await asyncio.wait_for(queue.take(), 1)]


def test_what_comes_within_the_window_goes_together_by_length():
    async def test(queue, clock):
        queue.put(ONE, ["ccc", "a"], document=False)
        clock.now += WINDOW_SECONDS
        queue.put(ONE, ["bb"], document=False)
        assert await lines(queue) == ["a", "bb", "ccc"]
        assert queue.waiting == 0

    on_queue(test)


def test_a_lone_sentence_waits_for_company_no_longer_than_the_window():
    async def run():
        queue = SentenceQueue(10)
        began = asyncio.get_running_loop().time()
        taking = asyncio.ensure_future(queue.take())
        await asyncio.sleep(0)
        queue.put(ONE, ["a"], document=False)
        await asyncio.sleep(WINDOW_SECONDS / 2)
        queue.put(ONE, ["b"], document=False)
        assert [sentence.line for sentence in await taking] == ["a", "b"]
        assert asyncio.get_running_loop().time() - began >= WINDOW_SECONDS

    asyncio.run(run())


def test_a_full_batch_does_not_wait():
    async def test(queue, clock):
        queue.put(ONE, map(str, range(BATCH + 1)), document=False)
        assert len(await lines(queue)) == BATCH
        clock.now += 1
        assert await lines(queue) == [str(BATCH)]

    on_queue(test)


def test_systems_and_numbers_of_translations_go_apart_the_first_come_first():
    async def test(queue, clock):
        for task, line in ((OTHER, "b"), (ONE, "a"), (ONE._replace(number=3), "c"), (OTHER, "d")):
            queue.put(task, [line], document=False)
            clock.now += 0.001
        clock.now += 1
        assert [await lines(queue) for _ in range(3)] == [["b", "d"], ["a"], ["c"]]

    on_queue(test)


def test_attention_goes_alone():
    async def test(queue, clock):
        queue.put(Task("attention", "one"), ["a", "b"], document=False)
        clock.now += 1
        assert [await lines(queue) for _ in range(2)] == [["a"], ["b"]]

    on_queue(test)


def test_a_person_goes_before_a_document_but_not_for_ever():
    async def test(queue, clock):
        queue.put(OTHER, ["document"], document=True)
        for moment in range(3):
            clock.now += HEAD_START_SECONDS / 2
            queue.put(ONE, [f"person {moment}"], document=False)
        clock.now += 1
        assert await lines(queue) == ["person 0", "person 1", "person 2"]
        queue.put(ONE, ["late"], document=False)
        clock.now += 1
        assert [await lines(queue) for _ in range(2)] == [["document"], ["late"]]

    on_queue(test)


def test_a_long_document_leaves_the_batch_to_persons():
    async def test(queue, clock):
        queue.put(ONE, [f"document {i}" for i in range(2 * BATCH)], document=True)
        queue.put(ONE, ["person"], document=False)
        clock.now += 1
        first = await lines(queue)
        assert "person" in first
        assert len(first) == BATCH

    on_queue(test)


def test_like_lengths_go_together_and_none_is_passed_over():
    """The first is always taken, so that it takes no more batches than sentences came before it."""

    async def test(queue, clock):
        queue.put(ONE, ["odd one out" * 9], document=True)
        for _ in range(3):
            queue.put(ONE, ["a" * 5, "b" * 50] * BATCH, document=True)
        clock.now += 10
        batches = [await lines(queue) for _ in range(7)]
        assert "odd one out" * 9 in batches[0]
        assert sum(len(set(map(len, batch))) == 1 for batch in batches) >= 5
        assert queue.waiting == 0

    on_queue(test)


def test_a_full_queue_takes_all_or_nothing_and_keeps_room_for_persons():
    async def test(queue, clock):
        queue.put(ONE, map(str, range(8)), document=True)
        for rows, document, room in (("ab", True, 1), ("abc", False, 2)):
            with pytest.raises(ServingError) as refused:
                queue.put(ONE, rows, document=document)
            said = f"queue: is full, got {len(rows)} more sentences; expected {room}, try again later"
            assert str(refused.value) == said
            assert (refused.value.status, refused.value.retry_seconds) == (503, 1)
        queue.put(ONE, "ab", document=False)
        assert queue.waiting == 10

    on_queue(test, size=10)


def test_the_smallest_queue_takes_a_sentence_of_a_document():
    async def test(queue, clock):
        queue.put(ONE, ["a"], document=True)
        assert queue.waiting == 1

    on_queue(test, size=1)


def test_how_long_to_wait_follows_from_the_speed():
    async def test(queue, clock):
        queue.put(ONE, map(str, range(100)), document=False)
        assert queue.retry_seconds() == 1
        queue.done(20, 2.0)
        assert queue.retry_seconds() == 5
        queue.done(1, 1000.0)
        assert 5 < queue.retry_seconds() <= 6
        queue.sentences_per_second = 0.1
        assert queue.retry_seconds() == 60

    on_queue(test)


def test_what_is_given_up_is_not_handed_out_and_takes_no_room():
    async def test(queue, clock):
        given_up = queue.put(ONE, ["a", "b"], document=False) + queue.put(OTHER, ["c"], document=False)
        queue.put(ONE, ["d"], document=False)
        for sentence in given_up:
            sentence.result.cancel()
        await asyncio.sleep(0)
        assert queue.waiting == 1
        clock.now += 1
        assert await lines(queue) == ["d"]
        assert queue.waiting == 0
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.take(), 0.02)

    on_queue(test)


def test_what_is_given_up_is_not_held_for_ever():
    """Behind a sentence that waits, too, which nobody takes."""

    async def test(queue, clock):
        queue.put(ONE, ["first"], document=False)
        for _ in range(20):
            for sentence in queue.put(ONE, ["a"] * (queue.size // 2), document=True):
                sentence.result.cancel()
            await asyncio.sleep(0)
            assert sum(map(len, queue.heaps.values())) <= 2 * queue.size
        assert await lines(queue) == ["first"]

    on_queue(test)


def test_what_a_worker_died_of_comes_again_alone_and_first():
    async def test(queue, clock):
        queue.put(ONE, ["a", "b", "c"], document=False)
        clock.now += 1
        batch = await queue.take()
        queue.put(ONE, ["d"], document=False)
        batch[1].result.cancel()
        queue.put_back(batch)
        clock.now += 1
        assert [await lines(queue) for _ in range(3)] == [["a"], ["c"], ["d"]]
        assert [sentence.tries for sentence in batch] == [2, 1, 2]
        assert queue.waiting == 0

    on_queue(test)


def test_two_takers_share_what_comes():
    async def test(queue, clock):
        queue.clock = asyncio.get_running_loop().time
        takers = [asyncio.ensure_future(queue.take()) for _ in range(2)]
        await asyncio.sleep(0)
        queue.put(ONE, ["a"], document=False)
        queue.put(OTHER, ["b"], document=False)
        found = await asyncio.gather(*takers)
        assert sorted(sentence.line for batch in found for sentence in batch) == ["a", "b"]

    on_queue(test)
