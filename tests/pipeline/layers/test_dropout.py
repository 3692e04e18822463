"""Each element goes with the probability said, by itself, and its gradient with it."""

import pytest
import torch

from pipeline.layers.dropout import Dropout, draw

RATES = [0.1, 0.3, 0.5, 0.9]


@pytest.fixture
def x():
    torch.manual_seed(1)
    return torch.rand(100, 1000) + 1  # nothing is zero by itself


@pytest.mark.parametrize("rate", RATES)
def test_share_and_scale(x, rate):
    """Of 100,000 elements the share dropped has a standard deviation below 0.0016."""
    out = Dropout(rate)(x)
    kept = out != 0
    assert abs((~kept).float().mean() - rate) < 0.008
    torch.testing.assert_close(out[kept], x[kept] / (1 - rate))


@pytest.mark.parametrize("rate", RATES)
def test_neighbours_know_nothing_of_each_other(rate):
    """Four decisions share a random number: none of the four places differs, and no two go together."""
    torch.manual_seed(1)
    kept = draw(torch.Size([100_000, 4]), rate, torch.float64)
    assert (kept.mean(0) - (1 - rate)).abs().max() < 0.008
    together = torch.corrcoef(kept.T) - torch.eye(4, dtype=torch.float64)
    assert together.abs().max() < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradient_goes_the_same_way(x, dtype):
    x = x.to(dtype).requires_grad_()
    out = Dropout(0.3)(x)
    given = torch.rand_like(x)
    out.backward(given)
    assert out.dtype == x.grad.dtype == dtype
    expected = torch.where(out != 0, given / 0.7, 0.0)
    torch.testing.assert_close(x.grad, expected.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rectified_is_dropout_after_relu(dtype):
    torch.manual_seed(2)
    x = torch.randn(50, 40).to(dtype).requires_grad_()
    given, dropout = torch.randn_like(x), Dropout(0.3)
    torch.manual_seed(3)
    expected = dropout(torch.relu(x))
    [gradient] = torch.autograd.grad(expected, x, given)
    torch.manual_seed(3)
    out = dropout.rectified(x)
    out.backward(given)
    assert torch.equal(out, expected)
    torch.testing.assert_close(x.grad, gradient)
    assert torch.equal(dropout.eval().rectified(x), torch.relu(x))
    assert torch.equal(Dropout(0.0).rectified(x), torch.relu(x))


def test_nothing_is_dropped_where_nothing_should_be(x):
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x


def test_it_draws_from_torchs_generator(x):
    dropout = Dropout(0.5)
    torch.manual_seed(5)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(5)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)


def test_masks_of_one_number_have_no_value_but_two(x):
    """0 or 1, of the type asked for, and as many as asked for where four do not fill a number."""
    for dtype in (torch.float32, torch.bfloat16):
        kept = draw(torch.Size([3, 7]), 0.5, dtype)
        assert kept.dtype == dtype
        assert set(kept.flatten().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (3, 0), (7, 1, 3)])
def test_any_shape(shape):
    assert draw(torch.Size(shape), 0.5, torch.float32).shape == shape
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


@pytest.mark.parametrize("rate", [0.99, 0.9999])
def test_nearly_all(rate):
    torch.manual_seed(1)
    assert 0 < draw(torch.Size([1_000_000]), rate, torch.float32).mean() < 1.2 * (1 - rate)
