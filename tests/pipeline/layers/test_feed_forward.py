import torch
from torch import nn

from pipeline.layers.feed_forward import FeedForward


def test_by_hand():
    """x = (1, 2): hidden max(0, (1 + 2, 1 - 2 + 0.5, -1)) = (3, 0, 0), out (3 * 2, 3 * -1) + (0.5, 0)."""
    network = FeedForward(2, 3, dropout=0.0)
    network.widen.weight.data = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]])
    network.widen.bias.data = torch.tensor([0.0, 0.5, 0.0])
    network.narrow.weight.data = torch.tensor([[2.0, 5.0, 7.0], [-1.0, 5.0, 7.0]])
    network.narrow.bias.data = torch.tensor([0.5, 0.0])
    assert network(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[6.5, -3.0]]]


def test_it_is_two_linear_maps():
    network, x = FeedForward(4, 8, dropout=0.0), torch.randn(2, 3, 4)
    plain = nn.Sequential(network.widen, nn.ReLU(), network.narrow)
    torch.testing.assert_close(network(x), plain(x))
    assert sum(weight.numel() for weight in network.parameters()) == 4 * 8 + 8 + 8 * 4 + 4


def test_dropout_acts_on_hidden_units():
    """Half of the hidden units go, the others count twice: with every unit 1, the sum out is 2 * how many stay."""
    network = FeedForward(1, 1000, dropout=0.5)
    for parameter in network.parameters():
        nn.init.constant_(parameter, float(parameter.dim() == 2))
    torch.manual_seed(1)
    kept = network(torch.ones(1, 20, 1)).flatten() / 2
    assert torch.equal(kept, kept.round())
    assert 400 < kept.min() < kept.max() < 600
    assert network.eval()(torch.ones(1, 1, 1)).item() == 1000
