"""Packed products are torch's own, and those of a row whatever stands beside it."""

import pytest
import torch
from torch.nn import functional as F

from pipeline.layers.embedding import Embeddings
from pipeline.layers.packed import Linear, packed, packing


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


@pytest.fixture
def layer():
    torch.manual_seed(1)
    layer = Linear(24, 70)
    torch.nn.init.normal_(layer.bias)
    return layer


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("with_bias", [True, False])
def test_packed_is_the_product(layer, dtype, with_bias):
    weight, bias = layer.weight.to(dtype), layer.bias.to(dtype) if with_bias else None
    product = packed(weight, bias)
    for shape in ((1, 24), (300, 24), (5, 7, 24), (0, 24)):
        x = torch.randn(shape, dtype=dtype)
        found = product(x)
        assert found.dtype == dtype
        close(found, F.linear(x, weight, bias))


@torch.no_grad()
@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN")
def test_a_row_is_the_same_in_any_company():
    x, weight, bias = torch.randn(700, 256), torch.randn(2000, 256), torch.randn(2000)
    product = packed(weight, bias)
    whole = product(x)
    for some in (slice(0, 1), slice(3, 8), slice(100, 700)):
        assert torch.equal(product(x[some]), whole[some])


def test_only_while_packing_and_each_matrix_once(layer, monkeypatch):
    calls = []
    monkeypatch.setattr("pipeline.layers.packed.packed", lambda *given: calls.append(given) or packed(*given))
    x = torch.randn(5, 24)
    before, rows = layer(x), layer(x, 10, 30)
    close(rows, before[:, 10:30])
    with torch.no_grad(), packing(torch.nn.Sequential(layer)):
        close(layer(x), before)
        close(layer(x, 10, 30), rows)
        layer(x)
        layer(x, 10, 30)
        assert [len(weight) for weight, _ in calls] == [70, 20]
    with torch.no_grad():
        layer.weight.zero_()
    assert torch.equal(layer(x), layer.bias.expand(5, -1))
    with torch.no_grad(), packing(layer):
        assert torch.equal(layer(x), layer.bias.expand(5, -1))


@torch.no_grad()
@pytest.mark.parametrize("tied", ["none", "all"])
def test_embeddings_pack_their_projection(monkeypatch, tied):
    calls = []
    monkeypatch.setattr("pipeline.layers.packed.packed", lambda *given: calls.append(given) or packed(*given))
    embeddings = Embeddings(70, 70, 24, tied=tied)
    for weight in embeddings.parameters():
        torch.nn.init.normal_(weight)
    x = torch.randn(5, 24)
    before = embeddings.logits(x)
    with packing(embeddings):
        close(embeddings.logits(x), before)
        embeddings.logits(x)
    assert [weight is embeddings.projection for weight, _ in calls] == [True]


def test_packing_within_packing_leaves_it_to_the_outer_one(layer):
    with packing(layer):
        with packing(torch.nn.Sequential(layer)):
            pass
        assert layer.products is not None
    assert layer.products is None


def test_a_failure_ends_packing(layer):
    with pytest.raises(KeyError), packing(layer):
        raise KeyError
    assert layer.products is None
