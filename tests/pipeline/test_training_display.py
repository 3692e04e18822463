"""What a training shows, by hand."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from pipeline import progress, training_display
from pipeline.system import System
from pipeline.training_display import TrainingDisplay

SYSTEM = System("phrasebook_fr_en", "bpe_2k", "transformer_postnorm", "small")
ROW = {"update": 2000, "train_loss": 12.345, "validation_loss": 2.104, "validation_perplexity": 8.2}


@pytest.fixture
def shown(monkeypatch):
    """What a pipe gets."""
    sent = io.StringIO()
    monkeypatch.setattr(progress, "console", Console(file=sent, force_terminal=False, soft_wrap=True))
    return sent


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(training_display.time, "perf_counter", lambda: now[0])
    return now


def test_loss_and_speed_are_means_of_the_last_updates(clock):
    def steps():
        for number in range(1, 31):
            clock[0] += 0.5
            yield SimpleNamespace(loss=float(number), tokens=100 * number)

    display = TrainingDisplay(SYSTEM, 30, [])
    assert display.about() == ""
    for _ in display.watched(steps()):
        clock[0] += 9.0  # a validation, which does not count
    assert display.about() == "train 20.50  4,100 tokens/s"  # 11 to 30, and 41,000 tokens in 10 seconds


def test_bleu_is_that_of_the_last_validation(shown, clock):
    display = TrainingDisplay(SYSTEM, 30, [{"validation_bleu": 10.0}, {"validation_bleu": 12.34}])
    next(display.watched([SimpleNamespace(loss=1.0, tokens=10)]))
    assert display.about() == "train 1.00  BLEU 12.3"
    display.validated({**ROW, "validation_bleu": 41.3})
    assert display.about() == "train 1.00  BLEU 41.3"


def test_a_further_seed_is_named():
    assert TrainingDisplay(SYSTEM._replace(seed="2"), 30, []).name == "transformer_postnorm-small-2"


def test_a_validation_is_a_line_that_fits(shown):
    display = TrainingDisplay(SYSTEM, 100_000, [])
    display.validated({**ROW, "validation_bleu": 41.3})
    display.validated(ROW)
    text = "transformer_postnorm-small  update 2,000/100,000  train 12.35  valid 2.10  ppl 8.2"
    assert shown.getvalue().splitlines() == [f"{text}  BLEU 41.3", text]
    assert len(text) + len("  BLEU 100.0") <= 100


def test_progress_is_a_line_that_fits(shown, clock, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def steps():
        for _ in range(99_990, 99_995):
            now[0] += 20.0
            clock[0] += 20.0
            yield SimpleNamespace(loss=12.0, tokens=1_234_567)

    display = TrainingDisplay(SYSTEM, 100_000, [{"validation_bleu": 100.0}])
    assert len(list(display.track(steps(), start=99_990))) == 5
    lines = capsys.readouterr().err.splitlines()
    name = "transformer_postnorm-small"
    assert lines[0] == f"{name}  99,991/100,000  train 12.00  BLEU 100.0  61,728 tokens/s  3:00 left"
    assert max(map(len, lines)) <= 100
