import pytest

from pipeline.commands import copy_task
from pipeline.commands.copy_task import Progress


@pytest.fixture
def asked(monkeypatch):
    """What the copy task was asked for, which a stand-in answers: half learnt at its first look, almost all after."""
    calls = []

    def run(name, **options):
        calls.append((name, options))
        for update in range(1, options["updates"] + 1):
            if update % options["interval"] == 0 or update == options["updates"]:
                learnt = update > options["interval"]
                yield Progress(update, 1.5, 0.99 if learnt else 0.5, [4, 5, 6], [4, 5, 6] if learnt else [4, 5])

    monkeypatch.setattr(copy_task, "run", run)
    return calls


def test_progress_until_it_is_learnt(run, asked):
    said = run("copy", "--model", "rnnsearch")
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        "update 50: loss 1.500, 50.0% exact, 4 5 6 -> 4 5",
        "update 100: loss 1.500, 99.0% exact, 4 5 6 -> 4 5 6",
        "rnnsearch: learnt in 100 updates, 99.0% exact",
    ]
    options = {"reverse": False, "batch_size": 80, "length": 10, "updates": 5000, "interval": 50, "seed": 1}
    assert asked == [("rnnsearch", options)]


def test_not_learnt_is_exit_one(run, asked):
    options = ["--updates", "9", "--reverse", "--batch-size", "3", "--length", "4", "--seed", "7"]
    said = run("copy", "--model", "rnnsearch", *options)
    assert said.status == 1
    assert said.out.splitlines()[-1] == "rnnsearch: not learnt in 9 updates, 50.0% exact"
    given = {"reverse": True, "batch_size": 3, "length": 4, "updates": 9, "interval": 50, "seed": 7}
    assert asked == [("rnnsearch", given)]


def test_an_unknown_model_is_named(fails):
    assert fails("copy", "--model", "rnnserch").startswith(
        "copy task: unknown model, got 'rnnserch'; nearest is 'rnnsearch'"
    )


@pytest.mark.slow
def test_a_transformer_learns(run):
    said = run("copy", "--model", "transformer_prenorm")
    assert said.status == 0, said.out
