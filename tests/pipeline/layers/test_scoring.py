"""Scoring functions by hand; their equations within a model are tested with the models."""

import math

import pytest
import torch

from pipeline.layers.scoring import Additive, AdditiveScoring, Location, LocationScoring, Product, ProductScoring, build

SECTIONS = [
    AdditiveScoring(kind="additive", size=5),
    ProductScoring(kind="general"),
    ProductScoring(kind="dot"),
    ProductScoring(kind="scaled_dot"),
    LocationScoring(kind="location", positions=7),
]


@torch.no_grad()
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.kind)
def test_the_score_of_a_position_does_not_depend_on_others(section):
    torch.manual_seed(1)
    scoring = build(section, 4, 4)
    memory, state = torch.randn(2, 3, 4), torch.randn(2, 4)
    scores = scoring(state, scoring.project_memory(memory))
    assert scores.shape == (2, 3)
    shorter = scoring(state, scoring.project_memory(memory[:, :2]))
    torch.testing.assert_close(scores[:, :2], shorter)


@torch.no_grad()
def test_products_by_hand():
    memory, state = torch.tensor([[[1.0, 2.0], [0.0, -1.0]]]), torch.tensor([[3.0, 4.0]])
    dot, scaled, general = (Product(2, 2, kind) for kind in ("dot", "scaled_dot", "general"))
    assert dot(state, dot.project_memory(memory)).tolist() == [[11.0, -4.0]]
    torch.testing.assert_close(
        scaled(state, scaled.project_memory(memory)), torch.tensor([[11.0, -4.0]]) / math.sqrt(2)
    )
    general.key.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))  # swaps the two numbers of a position
    assert general(state, general.project_memory(memory)).tolist() == [[10.0, -3.0]]


@torch.no_grad()
def test_additive_by_hand():
    """v = 2, W = 1, b = 0.5, U = -1: 2 tanh(1 + 0.5 - h)."""
    scoring = Additive(1, 1, 1)
    values = {scoring.v: 2, scoring.query.weight: 1, scoring.query.bias: 0.5, scoring.key.weight: -1}
    for weight, value in values.items():
        weight.fill_(value)
    scores = scoring(torch.tensor([[1.0]]), scoring.project_memory(torch.tensor([[[1.5], [0.0]]])))
    torch.testing.assert_close(scores, torch.tensor([[0.0, 2 * math.tanh(1.5)]]))


@torch.no_grad()
def test_location_never_attends_beyond_its_positions():
    scoring = Location(3, 2)
    scores = scoring(torch.randn(1, 3), scoring.project_memory(torch.randn(1, 4, 3)))
    assert torch.isfinite(scores).tolist() == [[True, True, False, False]]
    assert scores.softmax(dim=1)[0, 2:].tolist() == [0.0, 0.0]
