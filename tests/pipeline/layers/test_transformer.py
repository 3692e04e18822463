"""What must hold of every Transformer, whatever its `Design` is."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pipeline.kernels import dispatch
from pipeline.layers.feed_forward import GatedFeedForward
from pipeline.layers.residual import PostNorm, PreNorm
from pipeline.layers.transformer import Design, Transformer, TransformerArch
from pipeline.params import ParamsError
from tests.toys.networks import SOURCE, SOURCE_SIZE, TARGET, TARGET_SIZE, TRANSFORMER

DROPOUTS = ("dropout", "attention_dropout", "feed_forward_dropout")


def build(design, *, source_size=SOURCE_SIZE, target_size=TARGET_SIZE, **changed):
    torch.manual_seed(1)
    arch = TransformerArch.model_validate(TRANSFORMER | changed)
    model = Transformer(design, arch, source_size=source_size, target_size=target_size)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms of 1 and biases of 0 would hide what reads the wrong one
            nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.3)
    return model


DESIGNS = [Design(PostNorm), Design(PreNorm), Design(PreNorm, rotary=True, feed_forward=GatedFeedForward)]


@pytest.fixture(params=DESIGNS, ids=str)
def design(request):
    return request.param


@pytest.fixture
def model(design):
    return build(design)


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_every_position_sees_the_whole_source(model):
    before = model.hidden(SOURCE[:1], TARGET[:1])
    for position in range(SOURCE.shape[1] - 1):
        changed = SOURCE[:1].clone()
        changed[0, position] = 9
        after = model.hidden(changed, TARGET[:1])
        assert ((after - before).abs().amax(dim=2) > 1e-4).all()


@pytest.mark.parametrize(("tied", "matrices"), [("none", 13 + 2 * 11), ("output", 13 + 11), ("all", 11)])
def test_weights_counted_by_hand(design, tied, matrices):
    d, f = 16, 32
    widened = 2 if design.feed_forward is GatedFeedForward else 1
    norm, attention, feed_forward = 2 * d, 4 * (d * d + d), widened * (d * f + f) + f * d + d
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    ends = 2 * norm if design.residual is PreNorm else 0
    expected = 2 * encoder + 3 * decoder + ends + matrices * d + TARGET_SIZE
    model = build(design, tied_embeddings=tied, source_size=TARGET_SIZE if tied == "all" else SOURCE_SIZE)
    assert sum(weight.numel() for weight in model.parameters()) == expected


def test_dropout_is_on_in_training_only(design):
    rates = dict.fromkeys(DROPOUTS, 0.3)
    model = build(design, **rates)
    assert not torch.equal(model.hidden(SOURCE, TARGET), model.hidden(SOURCE, TARGET))
    model.eval()
    assert torch.equal(model.hidden(SOURCE, TARGET), model.hidden(SOURCE, TARGET))
    close(model.hidden(SOURCE, TARGET), build(design).hidden(SOURCE, TARGET))


@pytest.mark.parametrize("rates", [(0.1, 0.2, 0.3), (0.1, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.3), (0.1, 0.1, 0.1)])
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
    build(design, **dict(zip(DROPOUTS, rates, strict=True))).hidden(SOURCE, TARGET)
    added, attention, inside = rates
    encoder, decoder = [attention, added, inside, added], [attention, added, attention, added, inside, added]
    expected = [added, *encoder * 2, added, *decoder * 3]
    assert [rate for rate in drawn if rate] == [rate for rate in expected if rate]


def test_faults_are_named(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "arch: {encoder_layers: 0, decoder_layers: 2, width: 16, heads: 6, feed_foward: 32, dropout: 1.0, "
        "attention_dropout: 0.1, feed_forward_dropout: 1.5, tied_embeddings: both, "
        "initialisation: {kind: xavier, sublayer_gain: 0.0}}"
    )
    with pytest.raises(ParamsError) as caught:
        TransformerArch.load("arch", path)
    assert [line.removeprefix(f"{path}: arch.") for line in str(caught.value).splitlines()] == [
        "encoder_layers: should be greater than 0, got 0",
        "heads: must divide width 16, got 6",
        "feed_forward: is missing",
        "dropout: should be less than or equal to 0.99, got 1.0",
        "feed_forward_dropout: should be less than or equal to 0.99, got 1.5",
        "tied_embeddings: should be 'none', 'output' or 'all', got 'both'",
        "initialisation.sublayer_gain: should be greater than 0, got 0.0",
        "feed_foward: unknown key; nearest is 'feed_forward'",
    ]
