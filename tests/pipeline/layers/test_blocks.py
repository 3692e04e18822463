"""Feed-forward networks, residual connections and embeddings, beside plain torch."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pipeline.layers.embedding import Embeddings, SharedMatrixError
from pipeline.layers.feed_forward import FeedForward, GatedFeedForward
from pipeline.layers.residual import PostNorm, PreNorm

SOURCE, TARGET, WIDTH = 7, 11, 4
X = torch.tensor([[[1.0, 2.0, 3.0, 6.0]]])


def test_gated_feed_forward_is_three_linear_maps():
    network, x = GatedFeedForward(4, 8, dropout=0.0), torch.randn(2, 3, 4)
    gate, widen = nn.Linear(4, 8), nn.Linear(4, 8)
    network.gate_and_widen.weight.data = torch.cat((gate.weight, widen.weight)).detach()
    network.gate_and_widen.bias.data = torch.cat((gate.bias, widen.bias)).detach()
    torch.testing.assert_close(network(x), network.narrow(F.silu(gate(x)) * widen(x)))


@pytest.mark.parametrize(("kind", "unit"), [(FeedForward, 1.0), (GatedFeedForward, 1 / (1 + math.exp(-1)))])
def test_dropout_acts_on_hidden_units(kind, unit):
    """Half of the 1,000 units go and the others count twice: with all weights 1, half the sum is how many stay."""
    network = kind(1, 1000, dropout=0.5)
    for weight in network.parameters():
        nn.init.constant_(weight, float(weight.dim() == 2))
    kept = network(torch.ones(1, 20, 1)).flatten() / 2 / unit
    torch.testing.assert_close(kept, kept.round(), rtol=0, atol=1e-2)
    assert 400 < kept.min() < kept.max() < 600
    assert network.eval()(torch.ones(1, 1, 1)).item() == pytest.approx(1000 * unit, rel=1e-5)


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_epsilon_is_that_of_the_publications(kind):
    """A constant input has variance 0, so a small ripple on it shows epsilon; torch's default is 1e-5."""
    x = 1e-3 * X
    found = kind(4, dropout=0.0)(x, torch.zeros_like) if kind is PostNorm else kind(4, dropout=0.0)(x, torch.clone) - x
    torch.testing.assert_close(found, F.layer_norm(x, (4,), eps=1e-6))


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_dropout_spares_the_residual(kind):
    expected = F.layer_norm(X, (4,), eps=1e-6) if kind is PostNorm else X
    torch.testing.assert_close(kind(4, dropout=0.99)(X, lambda y: 1e-9 * y), expected)


def embeddings(tied, source=TARGET):
    torch.manual_seed(1)
    built = Embeddings(source, TARGET, WIDTH, tied=tied)
    for weight in built.parameters():
        nn.init.normal_(weight)
    return built


@pytest.mark.parametrize(("tied", "num_matrices"), [("none", 3), ("output", 2), ("all", 1)])
def test_each_use_of_embeddings_reads_its_matrix(tied, num_matrices):
    built, ids, x = embeddings(tied), torch.tensor([[0, 5], [10, 3]]), torch.randn(2, 3, WIDTH)
    source = built.target if tied == "all" else built.source
    output = built.output if tied == "none" else built.target
    assert sum(weight.dim() == 2 for weight in built.parameters()) == num_matrices
    torch.testing.assert_close(built.embed_source(ids), source[ids] * 2)  # sqrt(4)
    torch.testing.assert_close(built.embed_target(ids), built.target[ids] * 2)
    torch.testing.assert_close(built.logits(x), F.linear(x, output, built.bias))


def test_two_vocabularies_cannot_share_three_ways():
    with pytest.raises(SharedMatrixError) as caught:
        embeddings("all", SOURCE)
    assert str(caught.value) == (
        "tied_embeddings: all needs one joint vocabulary, got 7 source and 11 target pieces; "
        "expected a joint vocabulary, or tied_embeddings: output or none"
    )
