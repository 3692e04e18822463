"""What `nmt repro` shows of what the stages say."""

import io
import json

import pytest
from rich.console import Console

from pipeline import progress
from pipeline.commands import board as boards
from pipeline.commands import outcome
from pipeline.commands.board import Board, Lane
from pipeline.system import Build

BUILD = Build(
    corpora=["toy"],
    vocabularies=["bpe"],
    models=["rnnsearch", "transformer_prenorm"],
    sizes=["tiny"],
    more_seeds=[],
)
TRAIN = "train@toy-bpe-rnnsearch-tiny"


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(boards.time, "monotonic", lambda: now[0])
    return now


def board(build=BUILD, *, terminal=False, term="xterm"):
    made = Board(build)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, _environ={"TERM": term})
    made.console = made.live.live.console = console
    return made


def shown(made):
    return made.console.file.getvalue()


def event(kind, stage=TRAIN, **values):
    return f"\x1e{json.dumps({'kind': kind, 'stage': stage, **values})}\n"


def so_far(done, *, left=252.0):
    return event("progress", done=done, total=600, unit="", about="train 2.31  BLEU 41.3  4,512 tokens/s", left=left)


def test_a_stage_is_a_line_when_it_is_over(clock, monkeypatch):
    monkeypatch.setattr(boards.outcome, "of", lambda stage: f"loss of {stage}")
    made = board()
    lane = Lane(made, "rnnsearch-tiny | ")
    for line in (event("began"), event("ended", ok=True, seconds=72.4)):
        lane.hear(line)
    lane.over(0, asked=False)
    assert shown(made) == f"train       rnnsearch-tiny               1:12  loss of {TRAIN}\n"
    assert made.done == {TRAIN}


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_a_plain_line_each_fifteen_seconds(clock, terminal):
    """Without a terminal, and on one that cannot draw, such as a shell in Emacs."""
    made = board(terminal=terminal, term="dumb")
    lane = Lane(made, "")
    lane.hear(event("began"))
    for done in range(1, 8):
        clock[0] += 5
        lane.hear(so_far(done))
    rest = "/600  train 2.31  BLEU 41.3  4,512 tokens/s  4:12 left"
    assert shown(made).splitlines() == [f"rnnsearch-tiny  {done}{rest}" for done in (3, 6)]
    assert progress.PLAIN_SECONDS == 15


def test_routine_of_dvc_is_not_shown_and_all_else_is():
    made = board()
    lane = Lane(made, "a | ")
    for line in (
        f"Running stage '{TRAIN}':",
        "> python -m stages.train toy bpe rnnsearch tiny",
        "Stage 'clean@toy' didn't change, skipping",
        "Stage 'clean@toy' is cached - skipping run, checking out outputs",
        "Updating lock file 'dvc.lock'",
        "To track the changes with git, run:",
        "\tgit add dvc.lock",
        "",
        "warning: \x1b[2Jthe store [red]does not answer",
        "ERROR: failed to reproduce 'x': no stage has said why",
    ):
        lane.hear(line + "\n")
    assert shown(made).splitlines() == [
        "a | warning: \\x1b[2Jthe store [red]does not answer",
        "a | ERROR: failed to reproduce 'x': no stage has said why",
    ]


@pytest.mark.parametrize(
    ("asked", "ends", "word"),
    [(False, True, "failed, as said above"), (False, False, "failed, as said above"), (True, True, "stopped")],
)
def test_a_failure_is_shown_with_what_repeats_it(clock, asked, ends, word):
    """Also if the stage was killed and could not say that it ends."""
    made = board()
    lane = Lane(made, "")
    lines = [event("began"), *([event("ended", ok=False, seconds=3.0)] if ends else []), "error: why\n"]
    for line in lines:
        lane.hear(line)
    if ends:
        lane.hear(f"ERROR: failed to reproduce '{TRAIN}': failed to run: python -m stages.train, exited with 1\n")
    lane.over(1, asked=asked)
    assert shown(made).splitlines() == [
        "error: why",
        f"train       rnnsearch-tiny                     {word}",
        f"repeat it with: dvc repro {TRAIN}",
    ]
    assert not made.done


def test_what_another_command_builds_is_repeated_by_it(clock, monkeypatch):
    monkeypatch.setenv(outcome.BUILDER, "nmt repro-portable")
    made = board()
    lane = Lane(made, "")
    lane.hear(event("began"))
    lane.over(1, asked=False)
    assert shown(made).splitlines()[-1] == "repeat it with: nmt repro-portable"


def test_a_terminal_shows_what_runs_live(clock):
    made = board(terminal=True)
    with made:
        lane = Lane(made, "")
        lane.hear(event("began"))
        clock[0] += 60
        lane.hear(so_far(200))
        made.live.refresh()
        text = shown(made)
        assert "rnnsearch-tiny" in text
        assert "200/600  train 2.31  BLEU 41.3  4,512 tokens/s  4:12 left" in text
        assert "rnnsearch-tiny  200/600" not in text  # no plain line beside it
        lane.hear(event("ended", ok=True, seconds=61.0))
        assert not made.live.tasks
    assert "1:01" in shown(made)


def test_what_runs_fits_a_hundred_columns(clock):
    made = board(BUILD.model_copy(update={"models": ["transformer_postnorm"]}), terminal=True)
    with made:
        lane = Lane(made, "")
        lane.hear(event("began", "train@toy-bpe-transformer_postnorm-tiny"))
        about = "train 12.31  BLEU 41.3  12,512 tokens/s"
        lane.hear(event("progress", done=600, total=600, unit="", about=about, left=3540.0))
        made.live.refresh()
    assert f"600/600  {about}  59:00 left" in shown(made)


def test_a_further_seed_is_a_line_of_the_same_kind():
    made = board()
    made.row("average_seed@toy-bpe-rnnsearch-tiny-2", 62.0, "2 checkpoints")
    assert shown(made).splitlines()[-1].split() == ["average", "rnnsearch-tiny-2", "1:02", "2", "checkpoints"]


def test_long_names_are_cut_at_their_beginning(clock):
    build = Build(
        corpora=["eng_fra_by_line_fr_en", "toy"],
        vocabularies=["unigram_5k_separate", "bpe"],
        models=["transformer_postnorm"],
        sizes=["small"],
        more_seeds=[],
    )
    made = board(build)
    Lane(made, "").hear(event("ended", f"score@{build.systems()[0].id}", ok=True, seconds=3600.0))
    line = shown(made).rstrip("\n")
    assert "…" in line
    assert "transformer_postnorm-small  1:00:00" in line
    assert len(line) + len("  BLEU 100.0, chrF 100.0") <= 100
