"""`source` follows the sentences, all else the hypotheses."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.layers.decoder_state import DecoderState, Rows


@dataclass(frozen=True)
class Pair(Rows):
    one: Tensor
    two: Tensor


@dataclass(frozen=True)
class State(DecoderState):
    layers: tuple[Pair, ...]
    numbers: Tensor
    nothing: Tensor | None = None


def pair(*numbers):
    return Pair(torch.tensor(numbers), -torch.tensor(numbers))


def lists(pair):
    return pair.one.tolist(), pair.two.tolist()


def test_rows_are_repeated_reordered_and_dropped():
    rows = pair(1, 2, 3)
    assert len(rows) == 3
    assert lists(rows.select(torch.tensor([2, 0, 2, 2]))) == ([3, 1, 3, 3], [-3, -1, -3, -3])
    assert lists(rows) == ([1, 2, 3], [-1, -2, -3])


def test_hypotheses_and_sentences_are_selected_apart():
    state = State(pair(10, 20, 30), (pair(1, 2, 3), pair(4, 5, 6)), torch.tensor([7, 8, 9]))
    rows, sentences = torch.tensor([2, 0, 2, 2]), torch.tensor([2, 0])
    after = state.select(rows, sentences)
    assert lists(after.source) == ([30, 10], [-30, -10])
    assert [layer.one.tolist() for layer in after.layers] == [[3, 1, 3, 3], [6, 4, 6, 6]]
    assert after.numbers.tolist() == [9, 7, 9, 9]
    assert after.nothing is None


def test_all_sentences_stay_by_default():
    state = State(pair(10, 20, 30), (pair(1, 2, 3),), torch.tensor([7, 8, 9]))
    assert state.select(torch.tensor([1, 1, 0])).source is state.source
