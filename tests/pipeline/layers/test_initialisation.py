"""The weights of a Transformer start as they should."""

import pytest
import torch

from pipeline.layers.residual import PostNorm
from pipeline.layers.transformer import Design, Transformer, TransformerArch
from tests.toys.networks import TRANSFORMER


def started(**initialisation):
    torch.manual_seed(1)
    changed = {"width": 64, "feed_forward": 128, "initialisation": initialisation}
    return Transformer(
        Design(PostNorm), TransformerArch.model_validate(TRANSFORMER | changed), source_size=400, target_size=300
    )


@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_xavier(gain):
    """Embeddings N(0, 1 / D); other matrices uniform within sqrt(6 / (in + out)), query, key and value each alone.

    What a sub-layer adds is narrower by the gain, what attention weights are made of is not.
    """
    for name, weight in started(kind="xavier", sublayer_gain=gain).named_parameters():
        if weight.dim() == 1:
            assert (weight == float(name.endswith("norm.weight"))).all(), name
        elif name.startswith("embeddings."):
            assert abs(weight.std() * 8 - 1) < 0.03, name
            assert weight.abs().max() > 3.5 / 8, name  # a uniform one of that deviation ends at 1.73 / 8
        else:
            query_key_value = name.endswith("project_in.weight")
            gains = (1.0, 1.0, gain) if query_key_value else (gain,)
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


def test_xavier_everywhere():
    """Uniform within sqrt(6 / (in + out)), embeddings too; query, key and value each alone."""
    for name, weight in started(kind="xavier_everywhere").named_parameters():
        if weight.dim() == 1:
            assert (weight == float(name.endswith("norm.weight"))).all(), name
            continue
        for matrix in weight.chunk(3 if name.endswith("project_in.weight") else 1):
            bound = (6 / sum(matrix.shape)) ** 0.5
            assert 0.97 * bound < matrix.abs().max() <= bound, name
            assert abs(matrix.std() / (bound / 3**0.5) - 1) < 0.05, name
