import pytest
import torch
from torch.nn import functional as F

from pipeline.layers.embedding import Embeddings, SharedMatrixError

SOURCE, TARGET, WIDTH = 7, 11, 4


def build(tied, source=SOURCE, target=TARGET):
    torch.manual_seed(1)
    embeddings = Embeddings(source, target, WIDTH, tied=tied)
    for parameter in embeddings.parameters():
        torch.nn.init.normal_(parameter)
    return embeddings


@pytest.mark.parametrize(
    ("tied", "source", "weights"),
    [
        ("none", SOURCE, SOURCE * WIDTH + 2 * TARGET * WIDTH + TARGET),
        ("output", SOURCE, SOURCE * WIDTH + TARGET * WIDTH + TARGET),
        ("all", TARGET, TARGET * WIDTH + TARGET),
    ],
)
def test_weights_counted_by_hand(tied, source, weights):
    assert sum(parameter.numel() for parameter in build(tied, source).parameters()) == weights


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_each_use_reads_its_matrix(tied):
    embeddings = build(tied, TARGET)
    source = embeddings.target if tied == "all" else embeddings.source
    output = embeddings.output if tied == "none" else embeddings.target
    ids, x = torch.tensor([[0, 5], [10, 3]]), torch.randn(2, 3, WIDTH)
    torch.testing.assert_close(embeddings.embed_source(ids), source[ids] * 2)  # sqrt(4)
    torch.testing.assert_close(embeddings.embed_target(ids), embeddings.target[ids] * 2)
    torch.testing.assert_close(embeddings.logits(x), F.linear(x, output, embeddings.bias))
    assert embeddings.logits(x[0, 0]).shape == (TARGET,)


def test_two_sizes_cannot_share_three_ways():
    with pytest.raises(SharedMatrixError, match="tied_embeddings") as caught:
        Embeddings(SOURCE, TARGET, WIDTH, tied="all")
    assert str(caught.value) == (
        "tied_embeddings: all needs one joint vocabulary, got 7 source and 11 target pieces; "
        "expected a joint vocabulary, or tied_embeddings: output or none"
    )
