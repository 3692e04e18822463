import pytest
import torch
from torch.nn import functional as F

from pipeline.layers.residual import PostNorm, PreNorm

X = torch.tensor([[[1.0, 2.0, 3.0, 6.0]]])


def twice(x):
    return 2 * x


def test_post_norm_follows_its_sketch():
    """LayerNorm(x + 2x) = LayerNorm(3, 6, 9, 18): mean 9, variance (36 + 9 + 0 + 81) / 4 = 31.5."""
    expected = torch.tensor([[[-6.0, -3.0, 0.0, 9.0]]]) / (31.5 + 1e-6) ** 0.5
    torch.testing.assert_close(PostNorm(4, dropout=0.0)(X, twice), expected)


def test_pre_norm_follows_its_sketch():
    """x + 2 LayerNorm(1, 2, 3, 6): mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5."""
    expected = X + 2 * torch.tensor([[[-2.0, -1.0, 0.0, 3.0]]]) / (3.5 + 1e-6) ** 0.5
    torch.testing.assert_close(PreNorm(4, dropout=0.0)(X, twice), expected)


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_epsilon_is_that_of_the_publications(kind):
    """A constant input has variance 0, so a small ripple on it shows epsilon."""
    x = 1e-3 * X
    normalised = F.layer_norm(x, (4,), eps=1e-6)
    assert not torch.allclose(normalised, F.layer_norm(x, (4,), eps=1e-5), rtol=0.1)
    got = kind(4, dropout=0.0)(x, torch.zeros_like) if kind is PostNorm else kind(4, dropout=0.0)(x, lambda y: y) - x
    torch.testing.assert_close(got, normalised)


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_dropout_spares_the_residual(kind):
    wrapped = kind(4, dropout=0.99)
    expected = F.layer_norm(X, (4,), eps=1e-6) if kind is PostNorm else X
    torch.testing.assert_close(wrapped(X, lambda y: 1e-9 * y), expected)
    assert not torch.allclose(wrapped.eval()(X, torch.square), expected)
