"""The pre-norm Transformer, with rotations for positions, with gated feed-forward networks."""

import torch

from pipeline.compute import ids
from pipeline.layers.feed_forward import GatedFeedForward
from pipeline.models.transformer_modern import Arch
from tests.toys import networks

TOY = networks.TRANSFORMER


def test_heads_are_of_an_even_width():
    assert Arch.model_validate(TOY | {"width": 24, "heads": 12}).heads == 12
    faults = list(Arch.faults(TOY | {"width": 24, "heads": 8}, "arch", "x.yaml"))
    assert faults == ["x.yaml: arch.heads: must divide width 24 into heads of an even width, got 8"]


def test_without_rotations_and_gates_it_is_the_prenorm_model_without_positions():
    modern, prenorm = networks.build("transformer_modern"), networks.build("transformer_prenorm")
    for layer in (*modern.encoder, *modern.decoder):
        layer.self_attention.rotation = None
    prenorm.positions.table.zero_()
    for layer, own in zip((*prenorm.encoder, *prenorm.decoder), (*modern.encoder, *modern.decoder), strict=True):
        layer.feed_forward = GatedFeedForward(TOY["width"], TOY["feed_forward"], dropout=0.0)
        assert type(own.feed_forward) is GatedFeedForward
    prenorm.load_state_dict(modern.state_dict())
    given = networks.SOURCE, networks.TARGET
    torch.testing.assert_close(modern.hidden(*given), prenorm.hidden(*given))


@torch.no_grad()
def test_the_encoder_knows_how_far_words_stand_apart_and_not_where_they_begin():
    """A sentence behind a padding that nothing attends to is encoded as the same sentence at the beginning."""
    model = networks.build("transformer_modern")
    encoded, _ = model.encode(torch.tensor([[5, 6, 7, ids.EOS]]))
    shifted, _ = model.encode(torch.tensor([[ids.PAD, ids.PAD, 5, 6, 7, ids.EOS]]))
    torch.testing.assert_close(shifted[:, 2:], encoded, rtol=1e-4, atol=1e-4)
    swapped, _ = model.encode(torch.tensor([[6, 5, 7, ids.EOS]]))
    assert not torch.allclose(swapped[:, [1, 0, 2, 3]], encoded, rtol=1e-2, atol=1e-2)
