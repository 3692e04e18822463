"""What must hold of every Transformer, whatever its `Design` is: dropout, faults of its section, initial weights."""

import pytest
import torch
from torch.nn import functional as F

from pipeline.layers.feed_forward import GatedFeedForward
from pipeline.layers.kernels import dispatch
from pipeline.layers.residual import PostNorm, PreNorm
from pipeline.layers.transformer import Design, Transformer, TransformerArch
from tests.toys.networks import SOURCE, SOURCE_SIZE, TARGET, TARGET_SIZE, TRANSFORMER

DROPOUTS = ("dropout", "attention_dropout", "feed_forward_dropout")
DESIGNS = [Design(PostNorm), Design(PreNorm), Design(PreNorm, rotary=True, feed_forward=GatedFeedForward)]


def build(design, *, source_size=SOURCE_SIZE, target_size=TARGET_SIZE, **changed):
    torch.manual_seed(1)
    arch = TransformerArch.model_validate(TRANSFORMER | changed)
    kind = type("Model", (Transformer,), {"design": design})
    return kind(arch, source_size=source_size, target_size=target_size)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("rates", [(0.1, 0.2, 0.3), (0.1, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.3)])
def test_dropout_masks_are_drawn_in_a_fixed_order(design, rates, monkeypatch):
    """All masks come from one stream of numbers, so their rates and order decide what a training gives."""
    drawn, attend = [], F.scaled_dot_product_attention

    def draw(shape, rate, dtype):
        drawn.append(rate)
        return torch.ones(shape, dtype=dtype)

    def attended(*args, dropout_p, **settings):
        drawn.append(dropout_p)
        return attend(*args, dropout_p=0.0, **settings)

    monkeypatch.setattr(dispatch, "draw_mask", draw)
    monkeypatch.setattr(F, "scaled_dot_product_attention", attended)
    model = build(design, **dict(zip(DROPOUTS, rates, strict=True)))
    model.hidden(SOURCE, TARGET)
    added, attention, inside = rates
    encoder, decoder = [attention, added, inside, added], [attention, added, attention, added, inside, added]
    expected = [added, *encoder * 2, added, *decoder * 3]
    assert [rate for rate in drawn if rate] == [rate for rate in expected if rate]
    drawn.clear()
    model.eval().hidden(SOURCE, TARGET)
    assert not any(drawn)


def test_faults_are_named():
    wrong = {"encoder_layers": 0, "heads": 6, "feed_foward": 32, "dropout": 1.0, "feed_forward_dropout": 1.5}
    wrong |= {"tied_embeddings": "both", "initialisation": {"kind": "xavier", "sublayer_gain": 0.0}}
    given = {key: value for key, value in TRANSFORMER.items() if key != "feed_forward"} | wrong
    assert [fault.removeprefix("x.yaml: arch.") for fault in TransformerArch.faults(given, "arch", "x.yaml")] == [
        "encoder_layers: should be greater than 0, got 0",
        "heads: must divide width 16, got 6",
        "feed_forward: is missing",
        "dropout: should be less than or equal to 0.99, got 1.0",
        "feed_forward_dropout: should be less than or equal to 0.99, got 1.5",
        "tied_embeddings: should be 'none', 'output' or 'all', got 'both'",
        "initialisation.sublayer_gain: should be greater than 0, got 0.0",
        "feed_foward: unknown key; nearest is 'feed_forward'",
    ]


def started(design, **initialisation):
    """The parameters of a wider Transformer by name, those of norms and biases checked."""
    network = build(design, source_size=400, target_size=300, width=64, feed_forward=128, initialisation=initialisation)
    vectors = {name: weight for name, weight in network.named_parameters() if weight.dim() == 1}
    assert all((weight == float(name.endswith("norm.weight"))).all() for name, weight in vectors.items())
    return {name: weight for name, weight in network.named_parameters() if name not in vectors}


def check_uniform(matrix, bound):
    assert 0.97 * bound < matrix.abs().max() <= bound
    assert abs(matrix.std() / (bound / 3**0.5) - 1) < 0.05


def num_parts(name):
    """How many matrices a parameter holds."""
    return 3 if name.endswith("project_in.weight") else 2 if name.endswith("gate_and_widen.weight") else 1


@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_xavier(design, gain):
    """Embeddings N(0, 1 / D); other matrices uniform within sqrt(6 / (in + out)), those of one parameter each alone.

    What a sub-layer adds is narrower by the gain, what attention weights are made of is not.
    """
    for name, weight in started(design, kind="xavier", sublayer_gain=gain).items():
        if name.startswith("embeddings."):
            assert abs(weight.std() * 8 - 1) < 0.03
            assert weight.abs().max() > 3.5 / 8  # a uniform one of that deviation ends at 1.73 / 8
            continue
        gains = (1.0, 1.0, gain) if num_parts(name) == 3 else (gain,) * num_parts(name)
        for matrix, scale in zip(weight.chunk(len(gains)), gains, strict=True):
            check_uniform(matrix, scale * (6 / sum(matrix.shape)) ** 0.5)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_xavier_everywhere(design):
    """Uniform within sqrt(6 / (in + out)), embeddings too, and the matrices of one parameter each alone."""
    for name, weight in started(design, kind="xavier_everywhere").items():
        for matrix in weight.chunk(num_parts(name)):
            check_uniform(matrix, (6 / sum(matrix.shape)) ** 0.5)


def test_normal():
    for weight in started(DESIGNS[0], kind="normal", std=0.02).values():
        assert abs(weight.std() / 0.02 - 1) < 0.05
        assert weight.abs().max() > 3 * 0.02  # a uniform one of that deviation ends at 1.73 of it
