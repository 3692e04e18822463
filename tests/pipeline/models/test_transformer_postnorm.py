"""The post-norm model is torch's, without norms at the ends of the stacks."""

import pytest
import torch
from torch import nn

from pipeline import ids
from pipeline.models.transformer_postnorm import Arch, Model
from pipeline.params import ParamsError
from tests.toys import ARCH

SOURCE = torch.tensor([[5, 6, 7, 12, ids.EOS], [8, 4, ids.EOS, ids.PAD, ids.PAD], [ids.EOS] + [ids.PAD] * 4])
TARGET = torch.tensor([[ids.BOS, 4, 5, 6, 7, 8], [ids.BOS, 9, 4, ids.PAD, ids.PAD, ids.PAD], [ids.BOS, 9, 9, 8, 7, 6]])


@pytest.mark.parametrize("tied", ["none", "output", "all"])
@pytest.mark.parametrize("training", [True, False])
def test_it_is_torchs_transformer(torchs, tied, training):
    torch.manual_seed(1)
    model = Model(Arch.model_validate(ARCH | {"tied_embeddings": tied}), source_size=13, target_size=13)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # no bias of 0, no norm of 1
            nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.3)
    expected = torchs(model, norm_first=False)(SOURCE, TARGET)
    got = model.train(training).hidden(SOURCE, TARGET)
    real = TARGET != ids.PAD
    torch.testing.assert_close(got[real], expected[real], rtol=1e-5, atol=1e-5)


def test_faults_are_named(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "arch: {encoder_layers: 0, decoder_layers: 2, width: 16, heads: 6, feed_foward: 32, dropout: 1.0, "
        "tied_embeddings: both}"
    )
    with pytest.raises(ParamsError) as caught:
        Arch.load("arch", path)
    assert [line.removeprefix(f"{path}: arch.") for line in str(caught.value).splitlines()] == [
        "encoder_layers: should be greater than 0, got 0",
        "heads: must divide width 16, got 6",
        "feed_forward: is missing",
        "dropout: should be less than or equal to 0.99, got 1.0",
        "tied_embeddings: should be 'none', 'output' or 'all', got 'both'",
        "feed_foward: unknown key; nearest is 'feed_forward'",
    ]


def test_a_fault_of_the_width_is_not_blamed_on_the_heads(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(
        "arch: {encoder_layers: 1, decoder_layers: 2, width: wide, heads: 6, feed_forward: 32, dropout: 0.0, "
        "tied_embeddings: none}"
    )
    with pytest.raises(ParamsError) as caught:
        Arch.load("arch", path)
    assert str(caught.value) == f"{path}: arch.width: should be a valid integer, got 'wide'"


def test_two_vocabularies_cannot_share_three_ways():
    with pytest.raises(ValueError, match=r"^tied_embeddings: all needs one joint vocabulary, got 13 source and 11 tar"):
        Model(Arch.model_validate(ARCH | {"tied_embeddings": "all"}), source_size=13, target_size=11)
