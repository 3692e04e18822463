"""Workers: started, given batches, replaced when they die, hang or fail; nothing is lost."""

import asyncio
import errno
import os
import signal
import sys
import time

import pytest
from pipeline.serving.errors import ServingError
from pipeline.serving.sentence_queue import SentenceQueue, Task
from pipeline.serving.workers import StartError, Workers

from pipeline.serving import workers as workers_module
from pipeline.serving.metrics import Metrics
from tests.toys import stand_in

SYSTEM = next(iter(stand_in.SYSTEMS))
TASK = Task("translate", SYSTEM)
GIVEN = {"folders": [SYSTEM], "engine": "torch", "threads": 1, "glossary": None, "beam_size": None}


def with_workers(test, *, command=stand_in.COMMAND, given=GIVEN, number=1, batch_seconds=20.0):
    """Run a test with workers and their queue."""

    async def run():
        queue, metrics = SentenceQueue(1000), Metrics()
        workers = Workers(command, given, queue, metrics, number=number, batch_seconds=batch_seconds)
        workers.start()
        try:
            await asyncio.wait_for(test(workers, queue, metrics), 60)
        finally:
            await workers.stop()
        assert not workers.running

    asyncio.run(run())


async def results(queue, lines, task=TASK):
    """What becomes of some lines: the best translation of each, or the refusal."""
    sentences = queue.put(task, lines, document=False)
    found = await asyncio.gather(*(sentence.result for sentence in sentences), return_exceptions=True)
    return [one if isinstance(one, Exception) else one[0][0] for one in found]


def value(metric):
    """The value of a counter."""
    return next(iter(metric.collect())).samples[0].value


def test_batches_are_answered_in_their_order():
    async def test(workers, queue, metrics):
        await workers.loaded
        assert workers.systems == [
            {"system": SYSTEM, "source_language": "fr", "target_language": "en", "engine": "torch"}
        ]
        assert await results(queue, ["c d e", "a b", "x"]) == ["e d c", "b a", "x"]
        assert value(metrics.sentences) == 3
        assert queue.sentences_per_second > 0

    with_workers(test)


def test_what_waits_before_a_worker_has_started_is_answered():
    async def test(workers, queue, metrics):
        assert await results(queue, ["a b"]) == ["b a"]

    with_workers(test)


@pytest.mark.parametrize("number", [1, 2])
def test_a_worker_that_was_killed_idle_is_replaced(number):
    async def test(workers, queue, metrics):
        await workers.loaded
        os.kill(workers.running[next(iter(workers.running))].process.pid, signal.SIGKILL)
        assert await results(queue, ["a b"]) == ["b a"]
        while value(metrics.worker_restarts) < 1:
            await asyncio.sleep(0.01)
        while len(workers.running) < number:
            await asyncio.sleep(0.01)

    with_workers(test, number=number)


def test_the_batch_of_a_killed_worker_is_done_again():
    async def test(workers, queue, metrics):
        await workers.loaded
        killed = asyncio.ensure_future(results(queue, ["a b", "SLEEP0.3 c"]))
        await asyncio.sleep(0.15)
        os.kill(workers.running[0].process.pid, signal.SIGKILL)
        assert await killed == ["b a", "c SLEEP0.3"]
        assert value(metrics.worker_restarts) == 1

    with_workers(test)


def test_a_sentence_that_workers_die_of_takes_no_other_with_it():
    async def test(workers, queue, metrics):
        first, poison, last = await results(queue, ["a b", "KILL me", "c d"])
        assert (first, last) == ("b a", "d c")
        assert str(poison) == "worker: died twice of this sentence, got no translation; expected one"
        assert (poison.status, poison.retry_seconds) == (503, 1)
        assert value(metrics.worker_restarts) == 2
        assert await results(queue, ["e f"]) == ["f e"]

    with_workers(test)


def test_a_sentence_that_the_engine_fails_with_takes_no_other_with_it():
    async def test(workers, queue, metrics):
        first, failed = await results(queue, ["a b", "FAIL"])
        assert first == "b a"
        assert isinstance(failed, ServingError)
        assert failed.status == 500
        assert str(failed) == "engine: cannot translate this, got ValueError: cannot; expected another sentence"
        assert value(metrics.worker_restarts) == 0

    with_workers(test)


def test_an_error_of_our_own_ends_no_slot(monkeypatch, caplog):
    """As when there is no memory for an answer: the sentences are tried again, and the worker is replaced."""
    exchange, failures = workers_module.exchange, iter([MemoryError()])

    async def failing(process, value):
        said = await exchange(process, value)
        if "lines" in value and (failure := next(failures, None)):
            raise failure
        return said

    monkeypatch.setattr(workers_module, "exchange", failing)

    async def test(workers, queue, metrics):
        assert await results(queue, ["a b"]) == ["b a"]
        assert value(metrics.worker_restarts) == 1

    with_workers(test)
    assert "worker 0: failed; another one is started" in caplog.text


def test_a_worker_that_hangs_is_replaced():
    async def test(workers, queue, metrics):
        await workers.loaded
        first, hung = await results(queue, ["a b", "SLEEP30"])
        assert first == "b a"
        assert hung.status == 503
        assert value(metrics.worker_restarts) == 2

    with_workers(test, batch_seconds=0.5)


def test_models_that_cannot_be_loaded():
    async def test(workers, queue, metrics):
        with pytest.raises(StartError, match=r"^models/missing: no such model; expected one$"):
            await workers.loaded

    with_workers(test, given=GIVEN | {"folders": ["models/missing"]})


def test_a_worker_that_ends_at_once():
    async def test(workers, queue, metrics):
        with pytest.raises(StartError, match=r"^worker: ended while it loaded the models, exit status 3; expected"):
            await workers.loaded

    with_workers(test, command=[sys.executable, "-c", "raise SystemExit(3)"])


def without_room(monkeypatch, times):
    """The next processes cannot be started, so many times."""
    start, left = asyncio.create_subprocess_exec, iter(range(times))

    async def start_or_fail(*command, **options):
        if next(left, None) is not None:
            raise OSError(errno.EMFILE, "Too many open files")
        return await start(*command, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_or_fail)


def test_a_worker_that_cannot_be_started():
    async def test(workers, queue, metrics):
        said = r"^worker: cannot start, got \[Errno 24\] Too many open files; expected room for one more process$"
        with pytest.raises(StartError, match=said):
            await workers.loaded

    with pytest.MonkeyPatch.context() as patch:
        without_room(patch, 1)
        with_workers(test)


def test_a_worker_that_cannot_be_replaced_is_tried_again(monkeypatch, caplog):
    async def test(workers, queue, metrics):
        await workers.loaded
        without_room(monkeypatch, 2)
        os.kill(workers.running[0].process.pid, signal.SIGKILL)
        assert await results(queue, ["a b"]) == ["b a"]

    with_workers(test)
    assert caplog.text.count("worker 0: worker: cannot start, got [Errno 24] Too many open files") == 2


def test_an_answer_that_is_too_long_is_refused_and_its_worker_replaced(monkeypatch):
    monkeypatch.setattr(workers_module, "LINE_BYTES", 1000)

    async def test(workers, queue, metrics):
        first, long = await results(queue, ["a b", "x" * 1500])
        assert (first, long.status) == ("b a", 503)
        assert value(metrics.worker_restarts) == 2
        assert await results(queue, ["c d"]) == ["d c"]

    with_workers(test)


def test_stopping_ends_a_worker_that_loads():
    async def test(workers, queue, metrics):
        await asyncio.sleep(0.2)

    began = time.monotonic()
    with_workers(test, given=GIVEN | {"seconds": 30})
    assert time.monotonic() - began < 15


def test_a_worker_outlives_no_server_and_no_signal_of_its_group():
    """It ignores Ctrl-C, which a terminal sends to all, and ends with its standard input."""

    async def run():
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*stand_in.COMMAND, stdin=pipe, stdout=pipe)
        process.stdin.write(b'{"folders": []}\n')
        assert await process.stdout.readline() == b'{"systems": []}\n'
        for number in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        await asyncio.sleep(0.2)
        assert process.returncode is None
        process.stdin.close()
        assert await asyncio.wait_for(process.stdout.read(), 10) == b""
        assert await asyncio.wait_for(process.wait(), 10) == 0

    asyncio.run(run())
