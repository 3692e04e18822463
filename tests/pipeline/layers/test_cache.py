"""Buffers of a search hold what each row has written, whatever is put into another order, leaves or grows."""

import pytest
import torch

from pipeline.layers import cache
from pipeline.models import interface

H, K = 2, 3
NAMES = ("past.0.keys", "past.0.values")


def begun(sentences):
    """A search before its first step."""
    state = cache.begun(sentences, torch.device("cpu")) | {"source.mask": torch.ones(sentences)}
    return state | {name: torch.empty(sentences, H, 0, K) for name in NAMES}


def write(state, numbers):
    """A step that writes a number for each row."""
    state, turn = cache.extended(state, alone=len(numbers) == len(state["source.mask"]))
    new = torch.tensor(numbers, dtype=torch.float32).view(-1, 1, 1, 1).expand(-1, H, 1, K)
    for name, sign in zip(NAMES, (1, -1), strict=True):
        turn.write(state[name], sign * new)
    return state, turn


def seen(state, turn):
    """What each row finds written, a list of numbers."""
    keys, values = (turn.gathered(turn.written(state[name])) for name in NAMES)
    assert torch.equal(keys, -values)
    assert torch.equal(keys, keys[:, :1, :, :1].expand_as(keys))
    return keys[:, 0, :, 0].tolist()


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_any_search_sees_what_it_has_written(seed, width):
    """Beams mixed up and sentences left at random, rows from 1 to `width` a sentence and back again."""
    draw = torch.Generator().manual_seed(seed)
    state, told, number, places = begun(40), [[] for _ in range(40)], 0, set()
    for step in range(60):
        numbers = [float(number + row) for row in range(len(told))]
        number += len(told)
        state, turn = write(state, numbers)
        told = [[*past, new] for past, new in zip(told, numbers, strict=True)]
        assert seen(state, turn) == told
        assert turn.position == step
        spread = turn.spread(torch.tensor(numbers))
        assert len(spread) == turn.places == len(state["past.0.keys"])
        assert turn.gathered(spread).tolist() == numbers
        sentences = len(state["source.mask"])
        rows_each = len(told) // sentences
        stay = (torch.rand(sentences, generator=draw) > 0.03).nonzero().flatten()
        wider = (1, width)[step // 15 % 2]
        parents = torch.randint(rows_each, (len(stay), wider), generator=draw)
        rows = (stay[:, None] * rows_each + parents).flatten()
        told = [told[row] for row in rows]
        state = interface.select(state, rows, stay if len(stay) < sentences else None)
        places.add(turn.places)
    assert len(places) > 3


def test_one_row_a_sentence_moves_only_for_more_room():
    state, capacities = begun(6), []
    for _ in range(100):
        buffer = state["past.0.keys"]
        state, _ = write(state, range(6))
        if state["past.0.keys"] is not buffer:
            capacities.append(state["past.0.keys"].shape[2])
    assert capacities == [16, 32, 64, 128]


def test_sentences_in_another_order_keep_their_places():
    state, _ = write(begun(6), range(6))
    buffer, turned = state["past.0.keys"], torch.arange(6).flip(0)
    state, turn = write(interface.select(state, turned, turned), range(10, 16))
    assert seen(state, turn) == [[5.0 - row, 10.0 + row] for row in range(6)]
    assert state["past.0.keys"] is buffer


def test_rows_keep_their_places_until_many_are_idle():
    state, _ = write(begun(17), range(17))
    buffer, stay = state["past.0.keys"], torch.tensor([row for row in range(17) if row not in (3, 8)])
    state, turn = write(interface.select(state, stay, stay), range(15))
    assert state["past.0.keys"] is buffer
    assert (turn.place.tolist(), turn.places) == (stay.tolist(), 17)
    stay = torch.arange(1, 15)
    state, turn = write(interface.select(state, stay, stay), range(14))
    assert turn.place is None
    assert len(state["past.0.keys"]) == turn.places == 14
