"""What the copy task asks, and of whom; that every model learns it is in tests/test_learning.py."""

import itertools
import sys

import pytest
import torch

from pipeline.commands.copy_task import LENGTH, UNSEEN, Check, read_arch, sentences
from tests.toys import published

copy_task = sys.modules[read_arch.__module__]  # the package has the command under the name of the module
ARCH = published.arch("transformer_prenorm", "tiny").changed(width=16, heads=2, feed_forward=16)


def checks(**changed):
    asked = {"reverse": False, "batch_size": 4, "updates": 5, "interval": 2, "seed": 1} | changed
    return list(copy_task.run("transformer_prenorm", ARCH, **asked))


@pytest.fixture
def asked(monkeypatch, project_root):
    """What the copy task was asked for, which a stand-in answers: half learnt at its first check, almost all after."""
    calls = []

    def run(model, arch, **options):
        calls.append((model, arch, options))
        for update in range(1, options["updates"] + 1):
            if update % options["interval"] == 0 or update == options["updates"]:
                learnt = update > options["interval"]
                yield Check(update, 1.5, 0.99 if learnt else 0.5, [4, 5, 6], [4, 5, 6] if learnt else [4, 5])

    monkeypatch.chdir(project_root)
    monkeypatch.setattr(copy_task, "run", run)
    return calls


def test_progress_until_it_is_learnt(run, asked):
    said = run("copy-task", "--model", "rnnsearch")
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        "update 50: loss 1.500, 50.0% exact, 4 5 6 -> 4 5",
        "update 100: loss 1.500, 99.0% exact, 4 5 6 -> 4 5 6",
        "rnnsearch: learnt in 100 updates, 99.0% exact",
    ]
    options = {"reverse": False, "batch_size": 80, "length": 10, "updates": 5000, "interval": 50, "seed": 1}
    arch = published.arch("rnnsearch", "tiny").changed(dropout=0.0, output_dropout=0.0)
    assert asked == [("rnnsearch", arch, options | {"peak_rate": 5e-3})]


def test_not_learnt_is_exit_one(run, asked):
    options = ["--updates", "9", "--reverse", "--batch-size", "3", "--length", "4", "--seed", "7"]
    said = run("copy-task", "--model", "rnnsearch", "--size", "small", "--peak-rate", "0.01", *options)
    assert said.status == 1
    assert said.out.splitlines()[-1] == "rnnsearch: not learnt in 9 updates, 50.0% exact"
    given = {"reverse": True, "batch_size": 3, "length": 4, "updates": 9, "interval": 50, "seed": 7, "peak_rate": 0.01}
    arch = published.arch("rnnsearch", "small").changed(dropout=0.0, output_dropout=0.0)
    assert asked == [("rnnsearch", arch, given)]


def test_unknown_names_are_named(fails, asked):
    assert fails("copy-task", "--model", "rnnserch") == "--model: unknown model, got 'rnnserch'; nearest is 'rnnsearch'"
    assert fails("copy-task", "--model", "rnnsearch", "--size", "tiniest").startswith("params.yaml: models.rnnsearch")


@pytest.mark.parametrize("rate", ["0", "-1", "inf", "nan", "1e9"])
def test_a_rate_that_is_none_is_named(fails, asked, rate):
    assert fails("copy-task", "--model", "rnnsearch", "--peak-rate", rate) == (
        f"--peak-rate: must be over 0 and at most 1000, got {float(rate):g}; expected a number such as 0.005"
    )
    assert asked == []


@pytest.mark.parametrize("option", ["--seed", "--updates"])
def test_numbers_that_are_too_large_are_refused(run, asked, option):
    said = run("copy-task", "--model", "rnnsearch", option, "3000000000")
    assert said.status == 2
    assert f"'{option}': Input should be less than or equal to 2147483647" in said.err
    assert asked == []


@pytest.mark.slow
def test_a_transformer_learns(run, monkeypatch, project_root):
    monkeypatch.chdir(project_root)
    said = run("copy-task", "--model", "transformer_prenorm")
    assert said.status == 0, said.out


@pytest.mark.parametrize("reverse", [False, True])
def test_sentences_are_digits_and_their_copies(reverse):
    part = sentences(50, LENGTH, reverse=reverse, seed=1, check=0)
    for row in range(50):
        source = part.source[row].tolist()
        assert len(source) == LENGTH
        assert part.target[row].tolist() == (source[::-1] if reverse else source)
    assert set(part.source.ids.tolist()) == set(range(4, 11))


def test_checks_use_unseen_sentences():
    learnt, *checked = (sentences(300, 4, reverse=False, seed=1, check=check) for check in range(4))
    seen = {tuple(learnt.source[row].tolist()) for row in range(300)}
    for part in checked:
        assert len(part.source) == 300
        assert not seen & {tuple(part.source[row].tolist()) for row in range(300)}


def test_each_check_and_seed_has_sentences_of_its_own():
    parts = [
        sentences(50, LENGTH, reverse=False, seed=seed, check=check) for seed, check in ((1, 0), (1, 2), (2, 0), (2, 2))
    ]
    assert len({tuple(part.source.ids.tolist()) for part in parts}) == 4


def test_a_check_each_interval_and_at_last():
    assert [check.update for check in checks()] == [2, 4, 5]
    assert [check.update for check in checks(updates=4)] == [2, 4]
    for check in checks():
        assert len(check.source) == LENGTH
        assert 0 <= check.exact <= 1
        assert check.loss > 0


def test_checks_are_a_function_of_the_seed():
    first = checks()
    torch.rand(10)
    assert checks() == first
    assert checks(seed=2) != first
    assert checks(batch_size=5)[0].loss != first[0].loss


def test_sentences_may_be_shorter():
    [check] = checks(updates=2, length=3)
    assert len(check.source) == 3
    assert len(check.predicted) <= 4


def test_exact_counts_whole_sentences(monkeypatch):
    def predict(model, part):
        right = [part.target[row].tolist() for row in range(UNSEEN)]
        return [*right[: UNSEEN // 4], *(row[:-1] for row in right[UNSEEN // 4 : -1]), [*right[-1], 4]]

    monkeypatch.setattr(copy_task, "predict", predict)
    [check] = checks(reverse=True, updates=2)
    assert check.exact == 0.25
    assert check.predicted == check.source[::-1]


def test_an_update_has_so_many_sentences(monkeypatch):
    seen = []

    def train(model, optimizer, batches, learning, **rest):
        seen.extend(batches)
        yield from ()

    monkeypatch.setattr(copy_task, "train", train)
    assert checks(batch_size=3, updates=7) == []
    assert [[len(batch.pairs) for batch in update.micro_batches.values()] for update in seen] == [[3]] * 7
    pairs = list(itertools.chain.from_iterable(update.micro_batches[0].pairs.tolist() for update in seen))
    assert len(set(pairs)) == 21
