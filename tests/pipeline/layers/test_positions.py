import math

import torch

from pipeline.layers.positions import Positions, Rotation, sinusoids


def test_by_hand():
    """Width 4: the angles of position p are p and p / 100."""
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    assert expected[0] == [0.0, 1.0, 0.0, 1.0]
    torch.testing.assert_close(sinusoids(3, 4), torch.tensor(expected))


def test_odd_width_ends_with_a_sine():
    torch.testing.assert_close(sinusoids(5, 3)[:, 2], torch.sin(torch.arange(5) / 10000 ** (2 / 3)))


def test_adds_the_rows_from_start():
    positions, x = Positions(8), torch.randn(2, 5, 8)
    assert torch.equal(positions(x), x + sinusoids(5, 8))
    assert torch.equal(positions(x[:, 3:], start=3), positions(x)[:, 3:])


def test_the_table_grows_with_the_longest_sentence():
    positions = Positions(8)
    x = torch.zeros(1, 1000, 8)
    assert torch.equal(positions(x)[0], sinusoids(1000, 8))
    assert torch.equal(positions(x[:, :1], start=5000)[0, 0], sinusoids(5001, 8)[5000])
    assert torch.equal(positions(x[:, :3])[0], sinusoids(3, 8))


def test_it_keeps_the_type_and_is_no_weight():
    positions = Positions(8)
    assert positions(torch.zeros(1, 2, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert positions.state_dict() == {}
    assert list(positions.parameters()) == []


def test_growing_while_judging_does_not_stop_the_training_after():
    positions, x = Positions(8), torch.randn(1, 300, 8, requires_grad=True)
    with torch.inference_mode():
        positions(x.detach())
    positions(x).sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


def test_rotations_that_grow_in_a_search_do_not_stop_the_training_after():
    rotation, x = Rotation(8), torch.randn(1, 1, 300, 8, requires_grad=True)
    with torch.inference_mode():
        rotation(x.detach())
    rotation(x).square().sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())  # a rotation keeps lengths


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
