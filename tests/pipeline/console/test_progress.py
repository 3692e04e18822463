"""Progress passes items on unchanged and says how far they are."""

import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from pipeline.console import progress


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
    monkeypatch.setattr(progress, "console", Console(file=sent, force_terminal=True, width=120, _environ={}))
    return sent


def slowly(count, clock, seconds):
    for item in range(count):
        clock[0] += seconds
        yield item


def test_a_pipe_gets_a_plain_line_now_and_then(clock, capsys):
    """Hand-worked: 5 s an item, a line at most every 15 s."""
    assert list(progress.track(slowly(7, clock, 5.0), "read", total=7, unit="pairs")) == list(range(7))
    lines = ["read  3/7 pairs  0.2 pairs/s  0:20 left", "read  6/7 pairs  0.2 pairs/s  0:05 left"]
    assert capsys.readouterr().err.splitlines() == lines
    list(progress.track(slowly(1, clock, 20.0), "read", total=102, unit="pairs", start=100, about=lambda: "words"))
    assert capsys.readouterr().err == "read  101/102 pairs  words  0:20 left\n"
    list(progress.track(slowly(2, clock, 10.0), "read", total=None, unit="pairs"))
    assert capsys.readouterr().err == "read  2 pairs  0.1 pairs/s\n"


def test_a_terminal_gets_a_bar_without_markup_or_escape_codes(terminal):
    assert list(progress.track("abcd", "fetch [/x]\x1b[2J.gz", total=6, unit="MiB", start=2)) == list("abcd")
    last = terminal.getvalue().rpartition("fetch")[2]
    assert last.startswith(" [/x]\\x1b[2J.gz")
    assert "6/6" in last
    assert "MiB/s" in last


def test_a_terminal_shows_one_bar_inside_another_and_is_given_back(terminal):
    """A validation within a training, which then stops early."""
    for _ in progress.track(range(9), "train", total=9, unit="updates"):
        assert list(progress.track("ab", "validate", total=2, unit="batches")) == ["a", "b"]
        break
    assert "validate" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[?25h")  # the cursor is shown again


def test_a_stage_of_dvc_keeps_a_file_for_nmt_repro(clock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_STAGE", "train@toy")
    path = tmp_path / "work/progress/train@toy.json"
    for done in progress.track(slowly(4, clock, 2.0), "train", total=4, unit="", about=lambda: "loss 2"):
        if done == 3:
            state = {"done": 3, "total": 4, "about": "loss 2", "left": 2.0}
            assert json.loads(path.read_text()) == state
    assert not path.exists()


def test_what_a_training_shows(capsys):
    display = progress.TrainingDisplay("rnnsearch-tiny-1", 600)
    steps = [SimpleNamespace(loss=loss, tokens=1200, seconds=0.5) for loss in (3.0, 2.0)]
    assert list(display.track(steps, start=0)) == steps
    assert display.about() == "train 2.50  2,400 tokens/s"
    assert (display.tokens, display.seconds) == (2400, 1.0)
    row = {"update": 40, "train_loss": 2.5, "validation_loss": 2.25, "validation_perplexity": 9.5}
    display.show_validation(row | {"validation_bleu": 12.34})
    assert "ppl 9.5  BLEU 12.3  4:40 left" in capsys.readouterr().err
    assert display.about() == "train 2.50  BLEU 12.3  2,400 tokens/s"


def test_a_line_is_said_as_it_is(terminal):
    progress.say("toy", "[bold]x")
    assert terminal.getvalue() == "toy  [bold]x\n"


@pytest.mark.parametrize(("seconds", "expected"), [(0.4, "0:00"), (65, "1:05"), (3599.6, "1:00:00"), (7205, "2:00:05")])
def test_clock_by_hand(seconds, expected):
    assert progress.clock(seconds) == expected
