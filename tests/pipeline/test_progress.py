"""Progress passes items on unchanged and says how far they are."""

import io

import pytest
from rich.console import Console

from pipeline import events, progress


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


@pytest.fixture(params=[False, True])
def pipe(request, monkeypatch):
    """No terminal, and one that cannot draw."""
    console = Console(file=io.StringIO(), force_terminal=request.param, _environ={"TERM": "dumb"})
    monkeypatch.setattr(progress, "console", console)


def slowly(count, clock, seconds):
    for item in range(count):
        clock[0] += seconds
        yield item


@pytest.mark.usefixtures("pipe")
def test_pipe_gets_a_plain_line_now_and_then(clock, capsys):
    """Hand-worked: 5 s an item, a line at most every 15 s."""
    assert list(progress.track(slowly(7, clock, 5.0), "train", total=7, unit="updates")) == list(range(7))
    assert capsys.readouterr().err.splitlines() == [
        "train  3/7 updates  0.2/s  0:20 left",
        "train  6/7 updates  0.2/s  0:05 left",
    ]


@pytest.mark.usefixtures("pipe")
def test_plain_rate_leaves_out_what_was_done_before(clock, capsys):
    list(progress.track(slowly(1, clock, 20.0), "train", total=102, unit="updates", start=100))
    assert capsys.readouterr().err == "train  101/102 updates  0.1/s  0:20 left\n"


@pytest.mark.usefixtures("pipe")
def test_plain_without_total(clock, capsys):
    list(progress.track(slowly(2, clock, 10.0), "read", total=None, unit="pairs"))
    assert capsys.readouterr().err == "read  2 pairs  0.1/s\n"


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


@pytest.mark.usefixtures("pipe")
def test_what_there_is_to_say_stands_in_place_of_the_rate(clock, capsys):
    list(progress.track(slowly(1, clock, 20.0), "train", total=2, unit="updates", about=lambda: "loss 2.31"))
    assert capsys.readouterr().err == "train  1/2 updates  loss 2.31  0:20 left\n"


def test_terminal_says_it_too(terminal):
    list(progress.track([1], "train", total=1, unit="updates", about=lambda: "loss 2.31"))
    assert "loss 2.31" in terminal.getvalue()
    assert "updates/s" not in terminal.getvalue()


@pytest.mark.parametrize(("seconds", "expected"), [(0.4, "0:00"), (65, "1:05"), (3599.6, "1:00:00"), (7205, "2:00:05")])
def test_clock_by_hand(seconds, expected):
    assert progress.clock(seconds) == expected


def test_nmt_repro_gets_events_instead(clock, monkeypatch, capfd):
    """One at the beginning, one each half second, one at the end."""
    monkeypatch.setenv(events.VARIABLE, "1")
    monkeypatch.setattr(events, "stage", "train@toy")
    list(progress.track(slowly(6, clock, 0.2), "train", total=6, unit="updates", about=lambda: "loss 2"))
    progress.say("toy", "BLEU 3")
    out, err = capfd.readouterr()
    shown = list(map(events.parse, out.rstrip("\n").split("\n")))
    assert [event["done"] for event in shown] == [1, 4, 6]
    about = {"kind": "progress", "stage": "train@toy", "total": 6, "unit": "updates", "about": "loss 2"}
    assert shown[1] == {**about, "done": 4, "left": pytest.approx(0.4)}
    assert err == ""


@pytest.mark.usefixtures("pipe")
def test_a_line_is_said_as_it_is(monkeypatch):
    progress.say("toy", "[bold]x")
    assert progress.console.file.getvalue() == "toy  [bold]x\n"
