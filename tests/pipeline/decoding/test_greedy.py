import numpy as np
import pytest
import torch

from pipeline import ids
from pipeline.decoding import greedy

SOURCES = [[5, 4, 6], [4], [], [6, 6, 5, 4, 7], [7, 5]]


def test_takes_the_likeliest_piece_and_stops_at_eos(scripted, padded):
    model = scripted({(): {4: 0.6, 5: 0.4}, (4,): {ids.EOS: 0.4, 6: 0.6}, (4, 6): {ids.EOS: 0.9, 5: 0.1}})
    assert greedy.decode(model, padded([[4, 5]]), [10]) == [[4, 6]]
    assert model.rows == [1, 1, 1]


def test_forbidden_pieces_are_never_written(scripted, padded):
    model = scripted({(): {ids.PAD: 0.3, ids.UNK: 0.3, ids.BOS: 0.3, 4: 0.1}, (4,): {ids.UNK: 0.9, ids.EOS: 0.1}})
    assert greedy.decode(model, padded([[4]]), [10]) == [[4]]


def test_of_equally_likely_pieces_the_lower(scripted, padded):
    model = scripted({(): {5: 0.5, 4: 0.5}, (4,): {ids.EOS: 0.5, 4: 0.5}})
    assert greedy.decode(model, padded([[4]]), [10]) == [[4]]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("vocabulary", [31, 8000])
def test_the_first_of_many_equals(device, vocabulary):
    logits = np.random.default_rng(1).integers(0, 5, (300, vocabulary)).astype(np.float32)
    (found,) = greedy.argmax(torch.from_numpy(logits).to(device), slice(None))
    assert found.tolist() == logits.argmax(axis=1).tolist()


def test_a_sentence_at_its_maximum_length_stays_as_it_stands(scripted, padded):
    model = scripted({(): {4: 0.9, 5: 0.1}, (4,): {5: 0.9, 4: 0.1}, (4, 5): {ids.EOS: 1.0}})
    sources = padded([[4], [5], [6], [7]])
    assert greedy.decode(model, sources, torch.tensor([0, 1, 2, 3])) == [[], [4], [4, 5], [4, 5]]
    assert model.rows == [3, 2, 1]  # nothing is computed for length 0, and rows leave as they end


def test_nothing_to_do(drawn, padded):
    model = drawn(8)
    assert greedy.decode(model, padded([[4], [5]]), [0, 0]) == [[], []]
    assert model.rows == []


@pytest.mark.parametrize("seed", range(3))
def test_batch_mates_change_nothing(drawn, padded, seed):
    model = drawn(8, seed=seed)
    limits = [2 * len(source) + 3 for source in SOURCES]
    together = greedy.decode(model, padded(SOURCES), limits)
    alone = [greedy.decode(model, padded([source]), [limit])[0] for source, limit in zip(SOURCES, limits, strict=True)]
    backwards = greedy.decode(model, padded(SOURCES[::-1]), limits[::-1])
    assert together == alone == backwards[::-1]


def test_unknown_pieces_are_written_on_demand(scripted, padded):
    model = scripted({(): {ids.PAD: 0.3, ids.UNK: 0.3, ids.BOS: 0.3, 4: 0.1}, (ids.UNK,): {ids.UNK: 0.4, ids.EOS: 0.6}})
    assert greedy.decode(model, padded([[4]]), [10], unknown=True) == [[ids.UNK]]


def test_memory_follows_what_is_written_and_not_the_limit(scripted, padded):
    model = scripted({(): {4: 1.0}, (4,): {ids.EOS: 1.0}})
    assert greedy.decode(model, padded([[4], [5]]), [10**15, 10**15]) == [[4], [4]]
