"""The post-norm model is torch's, without norms at the ends of the stacks."""

import pytest
import torch
from torch import nn

from pipeline import ids
from pipeline.models.transformer_postnorm import Arch, Model
from tests.toys.samples import ARCH

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
