"""Layers prepack their matrices once, and only inside `prepacking`."""

import pytest
import torch
from torch import nn

from pipeline.layers.embedding import Embeddings
from pipeline.layers.kernels import dispatch
from pipeline.layers.linear import Linear, OutputProjection, prepack_in_bf16, prepacking
from tests.toys.networks import needs_bf16_products

pytestmark = pytest.mark.usefixtures("inference")


@pytest.fixture
def inference():
    with torch.no_grad():
        yield


@pytest.fixture
def layer():
    torch.manual_seed(1)
    layer = Linear(24, 70)
    nn.init.normal_(layer.bias)
    return layer


@pytest.fixture
def prepacked(monkeypatch):
    """The arguments of every call of `prepack_linear`."""
    calls, prepack = [], dispatch.prepack_linear
    monkeypatch.setattr(dispatch, "prepack_linear", lambda *given: calls.append(given) or prepack(*given))
    return calls


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


def test_only_inside_prepacking_and_each_matrix_once(layer, prepacked):
    x = torch.randn(5, 24)
    before, rows = layer(x), layer(x, 10, 30)
    close(rows, before[:, 10:30])
    with prepacking(nn.Sequential(layer)):
        for _ in range(2):
            close(layer(x), before)
            close(layer(x, 10, 30), rows)
        assert [len(weight) for weight, *_ in prepacked] == [70, 20]
    layer.weight.zero_()
    assert torch.equal(layer(x), layer.bias.expand(5, -1))


@pytest.mark.parametrize("tied", ["none", "all"])
def test_embeddings_prepack_their_projection(prepacked, tied):
    embeddings, x = Embeddings(70, 70, 24, tied=tied), torch.randn(5, 24)
    for weight in embeddings.parameters():  # a model initialises them
        nn.init.normal_(weight)
    before = embeddings.logits(x)
    with prepacking(embeddings):
        close(embeddings.logits(x), before)
    assert [weight is embeddings.projection for weight, *_ in prepacked] == [True]


def test_the_outer_of_two_callers_ends_prepacking(layer):
    with prepacking(layer):
        with prepacking(nn.Sequential(layer)):
            pass
        assert layer.prepacked is not None
    assert layer.prepacked is None


@needs_bf16_products
def test_in_bf16_all_but_output_projections_are_prepacked_so(layer, prepacked):
    output, embeddings, x = OutputProjection(70, 30), Embeddings(70, 70, 24, tied="none"), torch.randn(5, 24)
    network = nn.Sequential(layer, output, embeddings)
    prepack_in_bf16(network)
    before = layer(x)
    with prepacking(network):
        hidden = layer(x)
        output(hidden)
        embeddings.logits(x)
    torch.testing.assert_close(hidden, before, rtol=2**-6, atol=2**-6)
    assert [dtype for *_, dtype in prepacked] == [torch.bfloat16, torch.float32, torch.float32]
    assert torch.equal(layer(x), before)  # outside of a search nothing changes
