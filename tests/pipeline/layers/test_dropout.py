import torch

from pipeline.layers.dropout import Dropout


def test_it_drops_in_training_only():
    """Of 100,000 elements the share dropped has a standard deviation below 0.0016."""
    torch.manual_seed(1)
    dropout, x = Dropout(0.3), torch.rand(100, 1000) + 1
    out = dropout(x)
    kept = out != 0
    assert abs((~kept).float().mean() - 0.3) < 0.008
    torch.testing.assert_close(out[kept], x[kept] / 0.7)
    assert dropout.eval()(x) is x
    assert Dropout(0.0)(x) is x
