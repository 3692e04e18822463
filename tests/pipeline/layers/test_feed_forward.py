import math

import pytest
import torch
from torch import nn

from pipeline.layers.feed_forward import FeedForward, GatedFeedForward


def test_by_hand():
    """x = (1, 2): hidden max(0, (1 + 2, 1 - 2 + 0.5, -1)) = (3, 0, 0), out (3 * 2, 3 * -1) + (0.5, 0)."""
    network = FeedForward(2, 3, dropout=0.0)
    network.widen.weight.data = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]])
    network.widen.bias.data = torch.tensor([0.0, 0.5, 0.0])
    network.narrow.weight.data = torch.tensor([[2.0, 5.0, 7.0], [-1.0, 5.0, 7.0]])
    network.narrow.bias.data = torch.tensor([0.5, 0.0])
    assert network(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[6.5, -3.0]]]


def test_gates_by_hand():
    """x = (1, 2), one hidden unit: gate 1 - 2 + 1 = 0 and then 2, SiLU(2) = 2 / (1 + e^-2); widened 3 * 2 - 1 = 5."""
    network = GatedFeedForward(2, 1, dropout=0.0)
    network.gate_and_widen.weight.data = torch.tensor([[1.0, -1.0], [0.0, 3.0]])
    network.gate_and_widen.bias.data = torch.tensor([1.0, -1.0])
    network.narrow.weight.data = torch.tensor([[2.0], [-1.0]])
    network.narrow.bias.data = torch.tensor([0.5, 0.0])
    assert network(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[0.5, 0.0]]]
    network.gate_and_widen.bias.data[0] = 3.0
    silu = 2 / (1 + math.exp(-2))
    torch.testing.assert_close(network(torch.tensor([[[1.0, 2.0]]])), torch.tensor([[[0.5 + 10 * silu, -5 * silu]]]))


def hidden_units_kept(network):
    """The sum of 1,000 hidden units behind dropout of one half, 20 times; all weights are 1, all biases 0."""
    for parameter in network.parameters():
        nn.init.constant_(parameter, float(parameter.dim() == 2))
    torch.manual_seed(1)
    return network(torch.ones(1, 20, 1)).flatten() / 2


def test_dropout_acts_on_hidden_units():
    """Half of the hidden units go, the others count twice: with every unit 1, the sum out is 2 * how many stay."""
    network = FeedForward(1, 1000, dropout=0.5)
    kept = hidden_units_kept(network)
    assert torch.equal(kept, kept.round())
    assert 400 < kept.min() < kept.max() < 600
    assert network.eval()(torch.ones(1, 1, 1)).item() == 1000


def test_dropout_acts_on_gated_units():
    """As many stay where every unit is SiLU(1)."""
    network, silu = GatedFeedForward(1, 1000, dropout=0.5), 1 / (1 + math.exp(-1))
    torch.testing.assert_close(hidden_units_kept(network), silu * hidden_units_kept(FeedForward(1, 1000, dropout=0.5)))
    assert network.eval()(torch.ones(1, 1, 1)).item() == pytest.approx(1000 * silu)
