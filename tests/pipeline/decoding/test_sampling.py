"""Drawn translations: hand-worked draws, frequencies, the limits, and that nothing else changes one."""

from collections import Counter

import pytest
import torch

from pipeline.compute import ids
from pipeline.decoding import greedy
from pipeline.decoding.sampling import Sampling
from pipeline.decoding.search import search
from tests.toys.searches import DECODING

SOURCES = [[5, 4, 6], [4], [6, 6, 5, 4, 7], [7, 5], [5] * 30, [4, 6, 5]]


def sampling(temperature=1.0, top_k=0, seed=1):
    return Sampling(temperature=temperature, top_k=top_k, seed=seed)


def test_the_piece_at_which_the_probabilities_exceed_the_number_is_drawn():
    logits = torch.tensor([[0.0, 0.25, 0.0, 0.5, 0.25]]).log()
    drawn = [sampling().draw(logits, [number]).item() for number in (0.0, 0.24, 0.25, 0.74, 0.75, 1 - 2**-53)]
    assert drawn == [1, 1, 3, 3, 4, 4]
    half = sampling(0.5)  # squares: 1/16, 4/16, 1/16, so shares of 1/6, 4/6, 1/6
    assert [half.draw(logits, [number]).item() for number in (0.16, 0.17, 0.83, 0.84)] == [1, 3, 3, 4]
    logits = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.4, 0.3, 0.2, 0.1]]).log()
    assert sampling(top_k=2).draw(logits, [0.57, 0.57]).tolist() == [2, 0]  # of shares 4/7 and 3/7
    assert sampling(top_k=2).draw(logits, [0.58, 0.58]).tolist() == [3, 1]


def test_translations_are_as_frequent_as_they_are_likely(scripted, padded):
    model = scripted({(): {4: 0.7, 5: 0.3}, (4,): {ids.EOS: 0.5, 6: 0.5}})
    numbers = [[4 + number % 4, *map(int, f"{number:b}")] for number in range(2000)]
    found = greedy.decode(model, padded(numbers), [9] * 2000, choose=sampling().chooser(numbers))
    counts = Counter(tuple(one.ids) for one in found)
    shares = {(4,): 0.35, (4, 6): 0.35, (5,): 0.3}
    assert {pieces: count / 2000 for pieces, count in counts.items()} == pytest.approx(shares, abs=0.04)


@pytest.mark.parametrize("settings", [{"temperature": 1e-6}, {"top_k": 1}])
def test_in_the_limit_the_likeliest_piece_is_drawn(drawn, padded, settings):
    limits = [12] * len(SOURCES)
    found = greedy.decode(drawn(9), padded(SOURCES), limits, choose=sampling(**settings).chooser(SOURCES))
    assert found == greedy.decode(drawn(9), padded(SOURCES), limits)


def test_source_and_seed_alone_decide(drawn):
    def translations(sources, tokens, seed=1):
        decoding = DECODING.changed(tokens_per_batch=tokens)
        found = search(drawn(9), sources, decoding, torch.device("cpu"), sampling=sampling(seed=seed))
        return [drawn.ids for _, [drawn] in sorted(found)]

    expected = translations(SOURCES, 1000)
    assert translations(SOURCES, 1) == translations(SOURCES[::-1], 40)[::-1] == expected
    assert translations(SOURCES, 1000, seed=2) != expected
