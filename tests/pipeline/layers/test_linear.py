"""Layers prepack their matrices once, and only inside `prepacking`."""

import pytest
import torch

from pipeline.kernels import dispatch
from pipeline.layers.embedding import Embeddings
from pipeline.layers.linear import Linear, OutputProjection, prepack_in_bf16, prepacking
from tests.toys.processors import needs_bf16_products


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


def spied(monkeypatch):
    """The arguments of every call of `prepack_linear` from now on."""
    calls, prepack = [], dispatch.prepack_linear
    monkeypatch.setattr(dispatch, "prepack_linear", lambda *given: calls.append(given) or prepack(*given))
    return calls


@pytest.fixture
def layer():
    torch.manual_seed(1)
    layer = Linear(24, 70)
    torch.nn.init.normal_(layer.bias)
    return layer


def test_only_inside_prepacking_and_each_matrix_once(layer, monkeypatch):
    calls = spied(monkeypatch)
    x = torch.randn(5, 24)
    before, rows = layer(x), layer(x, 10, 30)
    close(rows, before[:, 10:30])
    with torch.no_grad(), prepacking(torch.nn.Sequential(layer)):
        close(layer(x), before)
        close(layer(x, 10, 30), rows)
        layer(x)
        layer(x, 10, 30)
        assert [len(weight) for weight, *_ in calls] == [70, 20]
    with torch.no_grad():
        layer.weight.zero_()
    assert torch.equal(layer(x), layer.bias.expand(5, -1))
    with torch.no_grad(), prepacking(layer):
        assert torch.equal(layer(x), layer.bias.expand(5, -1))


@torch.no_grad()
@pytest.mark.parametrize("tied", ["none", "all"])
def test_embeddings_prepack_their_projection(monkeypatch, tied):
    calls = spied(monkeypatch)
    embeddings = Embeddings(70, 70, 24, tied=tied)
    for weight in embeddings.parameters():
        torch.nn.init.normal_(weight)
    x = torch.randn(5, 24)
    before = embeddings.logits(x)
    with prepacking(embeddings):
        close(embeddings.logits(x), before)
        embeddings.logits(x)
    assert [weight is embeddings.projection for weight, *_ in calls] == [True]


def test_the_outer_caller_of_two_ends_prepacking(layer):
    with prepacking(layer):
        with prepacking(torch.nn.Sequential(layer)):
            pass
        assert layer.prepacked is not None
    assert layer.prepacked is None


def test_a_failure_ends_prepacking(layer):
    with pytest.raises(KeyError), prepacking(layer):
        raise KeyError
    assert layer.prepacked is None


@needs_bf16_products
@torch.no_grad()
def test_in_bf16_all_but_output_projections_are_prepacked_so(layer, monkeypatch):
    output, embeddings = OutputProjection(70, 30), Embeddings(70, 70, 24, tied="none")
    network, calls = torch.nn.Sequential(layer, output, embeddings), spied(monkeypatch)
    prepack_in_bf16(network)
    x = torch.randn(5, 24)
    before = layer(x)
    with prepacking(network):
        hidden = layer(x)
        output(hidden)
        embeddings.logits(x)
    torch.testing.assert_close(hidden, before, rtol=2**-6, atol=2**-6)
    assert [dtype for _, _, dtype in calls] == [torch.bfloat16, torch.float32, torch.float32]
    assert torch.equal(layer(x), before)  # outside of a search nothing changes
