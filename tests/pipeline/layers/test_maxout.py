import torch

from pipeline.layers.maxout import Maxout


@torch.no_grad()
def test_the_greater_of_each_pair_of_neighbours():
    maxout = Maxout(1, 2)
    maxout.units.weight.copy_(torch.tensor([[1.0], [2.0], [3.0], [-4.0]]))
    maxout.units.bias.copy_(torch.tensor([0.0, 0.0, 1.0, 0.0]))
    assert maxout(torch.tensor([[1.0], [-1.0]])).tolist() == [[2.0, 4.0], [-1.0, 4.0]]
