"""How long a stage waits: for one that is silent so many seconds in all, for one that gets on as long as it takes."""

from collections.abc import Callable

import pytest
from pipeline.tracking.deadline import Deadline, WatchedClient

from pipeline.tracking import deadline as tracking_deadline


class Clock:
    """Time that passes only where the test waits, so that a slow machine changes nothing."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


class Work:
    """Stands for the event of a thread: the steps are seconds to sleep and calls, and at their end it is set."""

    def __init__(self, clock: Clock, *steps: float | Callable[[], object]) -> None:
        self._clock, self._steps, self._free_at = clock, list(steps), clock.seconds

    def wait(self, seconds: float) -> bool:
        """Let so many seconds pass, and take the steps that fall into them."""
        self._clock.seconds += seconds
        while self._steps and self._clock.seconds >= self._free_at:
            step = self._steps.pop(0)
            if callable(step):
                step()
            else:
                self._free_at += step
        return not self._steps and self._clock.seconds >= self._free_at


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tracking_deadline, "time", clock)
    return clock


def never(clock: Clock) -> Work:
    """A store that falls silent."""
    return Work(clock, float("inf"))


def waited(deadline: Deadline, clock: Clock, work: Work) -> float:
    """Seconds until `deadline` has run out."""
    began = clock.seconds
    assert not deadline.wait(work)
    return clock.seconds - began


def test_silence_is_waited_for_once_in_all(clock: Clock) -> None:
    deadline = Deadline()
    assert deadline.wait(Work(clock, 10.0))
    assert waited(deadline, clock, never(clock)) == pytest.approx(5.0, abs=0.2)
    assert waited(deadline, clock, never(clock)) < 0.2


def test_a_local_store_that_gets_on_is_not_cut_off(clock: Clock) -> None:
    deadline = Deadline()
    assert deadline.wait(Work(clock, *[10.0, lambda: deadline.answered(local=True)] * 4))
    assert waited(deadline, clock, never(clock)) == pytest.approx(15.0, abs=0.3)


def test_a_server_that_answers_is_not_cut_off(clock: Clock) -> None:
    deadline = Deadline()
    assert deadline.wait(Work(clock, *[0.9, lambda: deadline.answered(local=False)] * 50))
    assert waited(deadline, clock, never(clock)) == pytest.approx(15.0, abs=0.3)


def test_a_server_that_drips_is_cut_off(clock: Clock) -> None:
    deadline = Deadline()
    drips = Work(clock, *[6.0, lambda: deadline.answered(local=False)] * 30)
    assert waited(deadline, clock, drips) == pytest.approx(15.0, abs=0.2)


def test_a_server_that_answers_late_costs_no_more_than_a_silent_one(clock: Clock) -> None:
    deadline = Deadline()
    late = Work(clock, *[2.0, lambda: deadline.answered(local=False)] * 30)
    assert waited(deadline, clock, late) == pytest.approx(15.0, abs=0.2)


def test_large_files_have_their_time(clock: Clock) -> None:
    deadline = Deadline()
    deadline.expect(20 * tracking_deadline.BYTES_PER_SECOND)
    assert deadline.wait(Work(clock, 25.0))
    assert waited(deadline, clock, never(clock)) == pytest.approx(10.0, abs=0.2)
    deadline = Deadline()
    deadline.expect(100 * tracking_deadline.BYTES_PER_SECOND)
    deadline.answered(local=False)  # sent at once: what follows has no more time for it
    assert waited(deadline, clock, never(clock)) == pytest.approx(15.0, abs=0.2)


def test_our_own_work_has_its_time_and_leaves_enough_for_the_store(clock: Clock) -> None:
    deadline = Deadline()
    with deadline.own_work():
        assert deadline.wait(Work(clock, 25.0))
    assert waited(deadline, clock, never(clock)) == pytest.approx(9.0, abs=0.2)


def test_our_own_work_does_not_take_for_ever(clock: Clock) -> None:
    deadline = Deadline()
    with deadline.own_work():
        assert waited(deadline, clock, never(clock)) == pytest.approx(15.0 + 120.0, abs=0.2)


def test_a_stopped_process_does_not_wait(clock: Clock) -> None:
    deadline = Deadline()

    def stop() -> None:
        clock.seconds += 3600.0

    assert deadline.wait(Work(clock, 1.0, stop, 1.0))
    assert waited(deadline, clock, never(clock)) > 11.0


def test_the_first_verdict_counts() -> None:
    deadline = Deadline()
    assert not deadline.is_over
    assert [deadline.give_up(), deadline.give_up()] == [True, False]
    assert deadline.is_over


def test_calls_that_come_back_are_progress_and_others_are_not() -> None:
    class Client:
        def add(self, one: int, *, other: int) -> int:
            return one + other

        def fail(self) -> None:
            raise OSError("no")

    class Counting(Deadline):
        def answered(self, *, local: bool) -> None:
            answers.append(local)

    answers: list[bool] = []
    watched = WatchedClient(Client(), Counting(), local=True)
    assert watched.add(1, other=2) == 3
    with pytest.raises(OSError, match="no"):
        watched.fail()
    assert answers == [True]
