"""What the copy task asks, and of whom; that every model learns it is in tests/test_learning.py."""

import itertools
import pkgutil
import re

import pytest
import torch

from pipeline import models
from pipeline.commands import copy_task
from pipeline.commands.copy_task import LENGTH, UNSEEN, UnknownModelError, run, sentences


def checks(**changed):
    asked = {"reverse": False, "batch_size": 4, "updates": 5, "interval": 2, "seed": 1} | changed
    return list(run("transformer_prenorm", **asked))


def test_every_model_can_be_asked():
    assert sorted(copy_task.ARCHS) == sorted(
        m.name for m in pkgutil.iter_modules(models.__path__) if m.name != "interface"
    )


def test_an_unknown_model_is_named():
    expected = "copy task: unknown model, got 'rnnsaerch'; nearest is 'rnnsearch'"
    with pytest.raises(UnknownModelError, match=f"^{re.escape(expected)}$"):
        next(run("rnnsaerch", reverse=False, batch_size=1, updates=1, interval=1, seed=1))


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

    def train(model, optimizer, updates, learning, **rest):
        seen.extend(updates)
        yield from ()

    monkeypatch.setattr(copy_task, "train", train)
    assert checks(batch_size=3, updates=7) == []
    assert [[len(batch.pairs) for batch in update.micro_batches.values()] for update in seen] == [[3]] * 7
    pairs = list(itertools.chain.from_iterable(update.micro_batches[0].pairs.tolist() for update in seen))
    assert len(set(pairs)) == 21
