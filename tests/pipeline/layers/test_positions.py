import math

import pytest
import torch

from pipeline.layers.positions import Positions, Rotation, sinusoids


def test_sinusoids_by_hand():
    """Width 4: the angles of position p are p and p / 100; an odd width ends with a sine."""
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(300)]
    torch.testing.assert_close(sinusoids(300, 4), torch.tensor(expected))
    torch.testing.assert_close(sinusoids(5, 3)[:, 2], torch.sin(torch.arange(5) / 10000 ** (2 / 3)))


def test_adds_the_rows_from_start_of_a_table_that_grows():
    positions, x = Positions(8), torch.randn(2, 5, 8)
    assert torch.equal(positions(x), x + sinusoids(5, 8))
    assert torch.equal(positions(x[:, 3:], start=3), x[:, 3:] + sinusoids(5, 8)[3:])
    assert torch.equal(positions(torch.zeros(1, 1, 8), start=5000)[0, 0], sinusoids(5001, 8)[5000])


@pytest.mark.parametrize("layer", [Positions(8), Rotation(8)], ids=["positions", "rotation"])
def test_a_table_that_grows_while_validating_is_no_weight_and_does_not_stop_the_training_after(layer):
    x = torch.randn(1, 1, 600, 8, requires_grad=True)
    x_in = x[0] if isinstance(layer, Positions) else x
    with torch.inference_mode():
        layer(x_in.detach())
    layer(x_in).sum().backward()
    assert x.grad.isfinite().all()
    assert layer.state_dict() == {}


def test_rotations_are_products_of_complex_numbers():
    """Numbers i and i + K / 2 of a head as one complex number, times e^(i p / 10000^(2i / K))."""
    x = torch.randn(2, 3, 7, 10)
    turned = Rotation(10)(x, start=4)
    for pair in range(5):
        angles = torch.arange(4, 11) / 10000 ** (2 * pair / 10)
        expected = torch.complex(x[..., pair], x[..., pair + 5]) * torch.exp(1j * angles)
        torch.testing.assert_close(torch.complex(turned[..., pair], turned[..., pair + 5]), expected)


def test_a_rotated_product_depends_on_the_distance_alone():
    torch.manual_seed(1)  # some draws have nearly the same product at another distance
    rotation, query, key = Rotation(8), torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)
    products = [(rotation(query, p) * rotation(key, p + 3)).sum() for p in (0, 1, 50, 700)]
    for product in products[1:]:
        torch.testing.assert_close(product, products[0], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(products[0], (rotation(query, 0) * rotation(key, 4)).sum(), rtol=1e-2)
