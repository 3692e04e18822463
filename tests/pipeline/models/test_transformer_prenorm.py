"""The pre-norm model is torch's, with a norm at the end of each stack."""

import pytest
import torch

from pipeline.compute import ids
from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_it_is_torchs_transformer(torchs, tied):
    model = networks.build("transformer_prenorm", target_size=networks.SOURCE_SIZE, tied_embeddings=tied)
    expected, real = torchs(model, norm_first=True)(SOURCE, TARGET), TARGET != ids.PAD
    torch.testing.assert_close(model.hidden(SOURCE, TARGET)[real], expected[real], rtol=1e-5, atol=1e-5)
