"""How long a stage waits: for one that is silent so many seconds in all, for one that gets on as long as it takes."""

import threading
import time

import pytest

from pipeline import tracking_patience
from pipeline.tracking_patience import Patience, Watched


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a second is what a second is in life."""
    for name, seconds in {"WAIT_SECONDS": 1.5, "ANSWER_SECONDS": 0.9, "OWN_SECONDS": 6.0, "CALL_SECONDS": 0.1}.items():
        monkeypatch.setattr(tracking_patience, name, seconds)


def waited(patience: Patience, done: threading.Event) -> float:
    """Seconds until `patience` has run out."""
    began = time.monotonic()
    assert not patience.wait(done)
    return time.monotonic() - began


def in_thread(*steps: object) -> threading.Event:
    """Take the steps, one after the other, beside the test: to sleep for so many seconds, or a call."""
    done = threading.Event()

    def work() -> None:
        for step in steps:
            time.sleep(step) if isinstance(step, float) else step()  # type: ignore[operator]
        done.set()

    threading.Thread(target=work, daemon=True).start()
    return done


def test_silence_is_waited_for_once_in_all() -> None:
    patience, never = Patience(), threading.Event()
    assert not patience.wait(in_thread(1.0)) or not patience.is_over
    assert waited(patience, never) < 1.0
    assert waited(patience, never) < 0.3


def test_a_local_store_that_gets_on_is_not_cut_off() -> None:
    patience = Patience()
    steps = [1.0, lambda: patience.answered(local=True)] * 4
    assert patience.wait(in_thread(*steps))
    assert waited(patience, threading.Event()) > 1.0


def test_a_server_that_answers_is_not_cut_off() -> None:
    patience = Patience()
    assert patience.wait(in_thread(*[0.08, lambda: patience.answered(local=False)] * 30))


def test_a_server_that_drips_is_cut_off() -> None:
    patience = Patience()
    began = time.monotonic()
    assert not patience.wait(in_thread(*[0.6, lambda: patience.answered(local=False)] * 30))
    assert time.monotonic() - began < 3.0


def test_large_files_have_their_time() -> None:
    patience = Patience()
    patience.expect(2 * tracking_patience.BYTES_PER_SECOND)
    assert patience.wait(in_thread(2.5, lambda: patience.answered(local=False)))
    assert waited(patience, threading.Event()) > 0.5
    patience = Patience()
    patience.expect(10 * tracking_patience.BYTES_PER_SECOND)
    patience.answered(local=False)  # sent at once: what follows has no more time for it
    assert waited(patience, threading.Event()) < 3.0


def test_our_own_work_has_its_time_and_leaves_enough_for_the_store() -> None:
    patience = Patience()

    def work() -> None:
        with patience.own_work():
            time.sleep(2.5)

    assert patience.wait(in_thread(work))
    assert 0.7 < waited(patience, threading.Event()) < 2.0


def test_our_own_work_does_not_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking_patience, "OWN_SECONDS", 0.2)
    patience = Patience()
    with patience.own_work():
        assert waited(patience, threading.Event()) < 3.0


def test_a_stopped_process_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    patience, clock = Patience(), iter([0.0, 3600.0])
    monkeypatch.setattr(tracking_patience.time, "monotonic", lambda: next(clock, 3600.0))
    assert patience.wait(in_thread(0.08))


def test_the_first_verdict_counts() -> None:
    patience = Patience()
    assert not patience.is_over
    assert [patience.give_up(), patience.give_up()] == [True, False]
    assert patience.is_over


def test_calls_that_come_back_are_progress_and_others_are_not() -> None:
    class Client:
        def add(self, one: int, *, other: int) -> int:
            return one + other

        def fail(self) -> None:
            raise OSError("no")

    class Counting(Patience):
        def answered(self, *, local: bool) -> None:
            answers.append(local)

    answers: list[bool] = []
    watched = Watched(Client(), Counting(), local=True)
    assert watched.add(1, other=2) == 3
    with pytest.raises(OSError, match="no"):
        watched.fail()
    assert answers == [True]
