"""Progress passes items on unchanged and says how far they are."""

import io

import pytest
from rich.console import Console

from pipeline import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves, in seconds."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal of 120 columns is sent."""
    sent = io.StringIO()
    console = Console(file=sent, force_terminal=True, width=120, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "console", console)
    return sent


@pytest.fixture
def pipe(monkeypatch):
    monkeypatch.setattr(progress, "console", Console(file=io.StringIO(), force_terminal=False))


def slowly(count, clock, seconds):
    for item in range(count):
        clock[0] += seconds
        yield item


@pytest.mark.usefixtures("pipe")
def test_pipe_gets_a_plain_line_now_and_then(clock, capsys):
    """Hand-worked: 5 s an item, a line at most every 15 s."""
    assert list(progress.track(slowly(7, clock, 5.0), "train", total=7, unit="updates")) == list(range(7))
    assert capsys.readouterr().err.splitlines() == [
        "train: 3 of 7 updates, 0.2/s, 20 s left",
        "train: 6 of 7 updates, 0.2/s, 5 s left",
    ]


@pytest.mark.usefixtures("pipe")
def test_plain_rate_leaves_out_what_was_done_before(clock, capsys):
    list(progress.track(slowly(1, clock, 20.0), "train", total=102, unit="updates", start=100))
    assert capsys.readouterr().err == "train: 101 of 102 updates, 0.1/s, 20 s left\n"


@pytest.mark.usefixtures("pipe")
def test_plain_without_total(clock, capsys):
    list(progress.track(slowly(2, clock, 10.0), "read", total=None, unit="pairs"))
    assert capsys.readouterr().err == "read: 2 pairs, 0.1/s\n"


@pytest.mark.usefixtures("pipe")
def test_short_work_says_nothing(capsys):
    assert list(progress.track("abc", "read", total=3, unit="lines")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_terminal_gets_a_bar(terminal):
    assert list(progress.track([1, 2, 3, 4], "train", total=6, unit="updates", start=2)) == [1, 2, 3, 4]
    last = terminal.getvalue().rpartition("train")[2]
    assert "6/6" in last
    assert "updates/s" in last


def test_terminal_shows_one_bar_inside_another(terminal):
    """A validation within a training."""
    for _ in progress.track(range(2), "train", total=2, unit="updates"):
        assert list(progress.track("ab", "validate", total=2, unit="batches")) == ["a", "b"]
    assert "validate" in terminal.getvalue()


def test_terminal_is_given_back_when_the_work_stops_early(terminal):
    for _ in progress.track(range(9), "train", total=9, unit="updates"):
        break
    assert terminal.getvalue().endswith("\x1b[?25h")  # the cursor is shown again
    assert list(progress.track([1], "decode", total=1, unit="lines")) == [1]


def test_a_name_on_a_terminal_is_no_markup_and_no_escape_code(terminal):
    assert list(progress.track([1], "fetch [/x]\x1b[2J.gz", total=1, unit="MiB")) == [1]
    assert "fetch [/x]\\x1b[2J.gz" in terminal.getvalue()
