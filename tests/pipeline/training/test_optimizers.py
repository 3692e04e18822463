"""Three steps of each optimizer against the papers' formulas in numpy."""

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.training.optimizers import Adadelta, Adam

BETA1, BETA2, EPSILON, RATE = 0.9, 0.98, 1e-9, 0.01


def by_hand(weight, gradients, kind, decay):
    """Kingma and Ba 2015, algorithm 1; the decay is part of the gradient (adam) or apart from it (adamw)."""
    first, second = np.zeros_like(weight), np.zeros_like(weight)
    for step, gradient in enumerate(gradients, 1):
        if kind == "adam":
            gradient = gradient + decay * weight
        else:
            weight = weight - RATE * decay * weight
        first = BETA1 * first + (1 - BETA1) * gradient
        second = BETA2 * second + (1 - BETA2) * gradient**2
        weight = weight - RATE * (first / (1 - BETA1**step)) / (np.sqrt(second / (1 - BETA2**step)) + EPSILON)
    return weight


@pytest.mark.parametrize("kind", ["adam", "adamw"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_by_hand(kind, decay):
    random = np.random.default_rng(1)
    weight, gradients = random.normal(size=(4, 3)), random.normal(size=(3, 4, 3))
    layer = nn.Linear(3, 4, bias=False)
    layer.weight.data = torch.tensor(weight, dtype=torch.float32)
    optimizer = Adam(kind=kind, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, weight_decay=decay).build(layer)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    for gradient in gradients:
        layer.weight.grad = torch.tensor(gradient, dtype=torch.float32)
        optimizer.step()
    expected = by_hand(weight, gradients, kind, decay)
    np.testing.assert_allclose(layer.weight.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_the_first_step_is_as_long_as_the_rate_whatever_the_gradient():
    layer = nn.Linear(2, 1, bias=False)
    before = layer.weight.detach().clone()
    optimizer = Adam(kind="adam", beta1=BETA1, beta2=BETA2, epsilon=EPSILON, weight_decay=0.0).build(layer)
    optimizer.param_groups[0]["lr"] = RATE
    layer.weight.grad = torch.tensor([[1e-3, -50.0]])
    optimizer.step()
    torch.testing.assert_close(layer.weight.detach() - before, torch.tensor([[-RATE, RATE]]), rtol=1e-4, atol=0)


def test_without_a_rate_nothing_moves():
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    optimizer = Adam(kind="adamw", beta1=BETA1, beta2=BETA2, epsilon=EPSILON, weight_decay=0.5).build(layer)
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert torch.equal(layer.weight, before)


def adadelta_by_hand(weight, gradients, rho, epsilon, rate):
    """Zeiler 2012, algorithm 1: each step is as long as the steps before it were, by the gradients' lengths."""
    squares, steps = np.zeros_like(weight), np.zeros_like(weight)
    for gradient in gradients:
        squares = rho * squares + (1 - rho) * gradient**2
        step = -np.sqrt(steps + epsilon) / np.sqrt(squares + epsilon) * gradient
        steps = rho * steps + (1 - rho) * step**2
        weight = weight + rate * step
    return weight


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_adadelta_by_hand(rate):
    random = np.random.default_rng(2)
    weight, gradients = random.normal(size=(4, 3)), random.normal(size=(5, 4, 3))
    layer = nn.Linear(3, 4, bias=False)
    layer.weight.data = torch.tensor(weight, dtype=torch.float32)
    optimizer = Adadelta(kind="adadelta", rho=0.95, epsilon=1e-6).build(layer)
    for group in optimizer.param_groups:
        group["lr"] = rate
    for gradient in gradients:
        layer.weight.grad = torch.tensor(gradient, dtype=torch.float32)
        optimizer.step()
    expected = adadelta_by_hand(weight, gradients, 0.95, 1e-6, rate)
    assert np.abs(expected - weight).mean() > 3e-3 * rate
    np.testing.assert_allclose(layer.weight.detach().numpy(), expected, rtol=0, atol=1e-6)
