"""What the copy task asks, and of whom; that every model learns it is in tests/test_learning.py."""

import itertools
import pkgutil
import re

import pytest
import torch

from pipeline import models
from pipeline.training import copy_task
from pipeline.training.copy_task import LENGTH, UNSEEN, UnknownModelError, run, sentences


def looks(**changed):
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
    part = sentences(50, LENGTH, reverse=reverse, seed=1, look=0)
    for row in range(50):
        source = part.source[row].tolist()
        assert len(source) == LENGTH
        assert part.target[row].tolist() == (source[::-1] if reverse else source)
    assert set(part.source.ids.tolist()) == set(range(4, 11))


def test_what_is_looked_at_was_not_learnt_from():
    learnt, *looked_at = (sentences(300, 4, reverse=False, seed=1, look=look) for look in range(4))
    seen = {tuple(learnt.source[row].tolist()) for row in range(300)}
    for part in looked_at:
        assert len(part.source) == 300
        assert not seen & {tuple(part.source[row].tolist()) for row in range(300)}


def test_each_look_and_seed_has_sentences_of_its_own():
    parts = [
        sentences(50, LENGTH, reverse=False, seed=seed, look=look) for seed, look in ((1, 0), (1, 2), (2, 0), (2, 2))
    ]
    assert len({tuple(part.source.ids.tolist()) for part in parts}) == 4


def test_a_look_each_interval_and_at_last():
    assert [look.update for look in looks()] == [2, 4, 5]
    assert [look.update for look in looks(updates=4)] == [2, 4]
    for look in looks():
        assert len(look.source) == LENGTH
        assert 0 <= look.exact <= 1
        assert look.loss > 0


def test_looks_are_a_function_of_the_seed():
    first = looks()
    torch.rand(10)
    assert looks() == first
    assert looks(seed=2) != first
    assert looks(batch_size=5)[0].loss != first[0].loss


def test_sentences_may_be_shorter():
    [look] = looks(updates=2, length=3)
    assert len(look.source) == 3
    assert len(look.said) <= 4


def test_exact_counts_whole_sentences(monkeypatch):
    def said(model, part):
        right = [part.target[row].tolist() for row in range(UNSEEN)]
        return [*right[: UNSEEN // 4], *(row[:-1] for row in right[UNSEEN // 4 : -1]), [*right[-1], 4]]

    monkeypatch.setattr(copy_task, "said", said)
    [look] = looks(reverse=True, updates=2)
    assert look.exact == 0.25
    assert look.said == look.source[::-1]


def test_an_update_has_so_many_sentences(monkeypatch):
    seen = []

    def train(model, optimizer, updates, learning, **rest):
        seen.extend(updates)
        yield from ()

    monkeypatch.setattr(copy_task, "train", train)
    assert looks(batch_size=3, updates=7) == []
    assert [[len(batch.pairs) for batch in update.micro_batches.values()] for update in seen] == [[3]] * 7
    pairs = list(itertools.chain.from_iterable(update.micro_batches[0].pairs.tolist() for update in seen))
    assert len(set(pairs)) == 21
