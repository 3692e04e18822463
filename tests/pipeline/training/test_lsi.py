"""Embeddings start close together where their pieces occur in the same pairs."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pipeline.encoding.shards import Encoded, Ragged
from pipeline.layers.embedding import EmbeddingMatrices
from pipeline.training import lsi
from tests.toys import networks, samples

WORDS, FIRST = 40, 4  # of each language, and the id of the first one: those below are never in a sentence
SIZE = FIRST + WORDS


def ragged(sentences):
    lengths = [0, *map(len, sentences)]
    return Ragged(np.concatenate([np.asarray(one, dtype=np.uint16) for one in sentences]), np.cumsum(lengths))


def dictionary(pairs=300, shift=0):
    """Pairs in which word k of the source always stands for word k of the target, in another order."""
    draw = np.random.default_rng(3)
    chosen = [FIRST + draw.choice(WORDS, 5, replace=False) for _ in range(pairs)]
    return Encoded(ragged(chosen), ragged([draw.permutation(one) + shift for one in chosen]))


def matrices():
    torch.manual_seed(2)
    return EmbeddingMatrices(*(nn.Parameter(torch.randn(SIZE, 16)) for _ in range(2)))


def nearest(vectors, others):
    return (F.normalize(vectors) @ F.normalize(others).T).argmax(dim=1)


def test_occurrences_by_hand():
    """Piece 3 is twice in pair 0, which counts once; pieces 1 and 4 are nowhere."""
    encoded = samples.encoded([[3, 0, 3], [7], [0]], [[0], [8], [1]])
    expected = torch.zeros(8, 2)
    expected[[3, 5], [0, 1]] = math.log(2)
    expected[[0, 4], :] = torch.tensor([[0, 0], [math.log(2), 0]])
    torch.testing.assert_close(lsi.occurrences(encoded, np.array([0, 2]), 4, 8).to_dense(), expected)


def test_decomposition_is_the_exact_one():
    """The angles between pieces are those of numpy's decomposition, U sqrt(S); torch's generator stays as it is."""
    draw = np.random.default_rng(1)
    weighted = (draw.random((50, 90)) * (draw.random((50, 90)) < 0.1)).astype(np.float32)
    left, values, _ = np.linalg.svd(weighted)
    exact = F.normalize(torch.from_numpy(left[:, :8] * values[:8] ** 0.5))
    before = torch.get_rng_state()
    directions = lsi.directions(torch.from_numpy(weighted).to_sparse(), 8, seed=1)
    torch.testing.assert_close(directions @ directions.T, exact @ exact.T, rtol=0, atol=1e-3)
    assert torch.equal(torch.get_rng_state(), before)


def test_wider_than_the_data_leaves_no_gap():
    weighted = torch.tensor([[2.0, 0], [0, 1], [0, 1], [0, 0]]).to_sparse()
    torch.testing.assert_close(lsi.directions(weighted, 6, seed=1).norm(dim=1), torch.tensor([1.0, 1, 1, 0]))


@pytest.mark.parametrize("most_pairs", [10_000, 200])
def test_translations_start_together(most_pairs):
    """In two matrices; in each row the length stays, and a piece that no sentence has keeps its row."""
    start, before = matrices(), matrices()
    lsi.start(start, dictionary(), most_pairs=most_pairs, seed=1)
    source, target = (matrix.detach() for matrix in start)
    assert nearest(source[FIRST:], target).tolist() == list(range(FIRST, SIZE))
    for matrix, old in zip(start, before, strict=True):
        torch.testing.assert_close(matrix.norm(dim=1), old.norm(dim=1))
        assert torch.equal(matrix[:FIRST], old[:FIRST])


def test_translations_start_together_in_a_shared_matrix():
    """The target's words follow the source's in one vocabulary."""
    torch.manual_seed(2)
    one = nn.Parameter(torch.randn(SIZE + WORDS, 16))
    lsi.start(EmbeddingMatrices(one, one), dictionary(shift=WORDS), most_pairs=10_000, seed=1)
    embeddings = one.detach()
    assert (nearest(embeddings[FIRST:SIZE], embeddings[SIZE:]) == torch.arange(WORDS)).all()


def test_the_seed_decides():
    sources = []
    for seed in (1, 1, 2):
        start = matrices()
        lsi.start(start, dictionary(), most_pairs=100, seed=seed)
        sources.append(start.source.detach())
    assert torch.equal(sources[0], sources[1])
    assert not torch.allclose(sources[0], sources[2], atol=0.1)


@pytest.mark.parametrize("name", networks.NAMES)
def test_every_model_can_start_so(name):
    """What it says it embeds with is what it embeds with."""
    model = networks.build(name)
    both = model.embedding_matrices
    encoded = Encoded(ragged([[4, 5], [6, 7], [5, 6]]), ragged([[5, 4], [6, 6], [4]]))
    before = [matrix.detach().clone() for matrix in both]
    lsi.start(both, encoded, most_pairs=10, seed=1)
    assert all(not torch.equal(matrix, old) for matrix, old in zip(both, before, strict=True))
    assert {id(matrix) for matrix in both} <= {id(parameter) for parameter in model.parameters()}
