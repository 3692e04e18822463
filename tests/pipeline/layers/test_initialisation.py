"""The weights of a Transformer start as they should."""

import pytest
import torch

from pipeline.layers.feed_forward import GatedFeedForward
from pipeline.layers.residual import PostNorm
from pipeline.layers.transformer import Design, Transformer, TransformerArch
from tests.toys.networks import TRANSFORMER

DESIGNS = [Design(PostNorm), Design(PostNorm, feed_forward=GatedFeedForward)]


def started(design=DESIGNS[0], **initialisation):
    torch.manual_seed(1)
    changed = {"width": 64, "feed_forward": 128, "initialisation": initialisation}
    return Transformer(design, TransformerArch.model_validate(TRANSFORMER | changed), source_size=400, target_size=300)


def parts(name):
    """How many matrices a parameter holds."""
    return 3 if name.endswith("project_in.weight") else 2 if name.endswith("gate_and_widen.weight") else 1


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_xavier(design, gain):
    """Embeddings N(0, 1 / D); other matrices uniform within sqrt(6 / (in + out)), those of one parameter each alone.

    What a sub-layer adds is narrower by the gain, what attention weights are made of is not.
    """
    for name, weight in started(design, kind="xavier", sublayer_gain=gain).named_parameters():
        if weight.dim() == 1:
            assert (weight == float(name.endswith("norm.weight"))).all(), name
        elif name.startswith("embeddings."):
            assert abs(weight.std() * 8 - 1) < 0.03, name
            assert weight.abs().max() > 3.5 / 8, name  # a uniform one of that deviation ends at 1.73 / 8
        else:
            gains = (1.0, 1.0, gain) if parts(name) == 3 else (gain,) * parts(name)
            for matrix, scale in zip(weight.chunk(len(gains)), gains, strict=True):
                bound = scale * (6 / sum(matrix.shape)) ** 0.5
                assert 0.97 * bound < matrix.abs().max() <= bound, name
                assert abs(matrix.std() / (bound / 3**0.5) - 1) < 0.05, name


def test_normal():
    for name, weight in started(kind="normal", std=0.02).named_parameters():
        if weight.dim() == 1:
            assert (weight == float(name.endswith("norm.weight"))).all(), name
        else:
            assert abs(weight.std() / 0.02 - 1) < 0.05, name
            assert weight.abs().max() > 3 * 0.02, name  # a uniform one of that deviation ends at 1.73 of it


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_xavier_everywhere(design):
    """Uniform within sqrt(6 / (in + out)), embeddings too, and the matrices of one parameter each alone."""
    for name, weight in started(design, kind="xavier_everywhere").named_parameters():
        if weight.dim() == 1:
            assert (weight == float(name.endswith("norm.weight"))).all(), name
            continue
        for matrix in weight.chunk(parts(name)):
            bound = (6 / sum(matrix.shape)) ** 0.5
            assert 0.97 * bound < matrix.abs().max() <= bound, name
            assert abs(matrix.std() / (bound / 3**0.5) - 1) < 0.05, name
