"""The post-norm model is torch's, without norms at the ends of the stacks."""

import pytest
import torch

from pipeline.compute import ids
from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET


@pytest.mark.parametrize("tied", ["none", "output", "all"])
def test_it_is_torchs_transformer(torchs, tied):
    model = networks.build("transformer_postnorm", target_size=networks.SOURCE_SIZE, tied_embeddings=tied)
    expected, real = torchs(model, norm_first=False)(SOURCE, TARGET), TARGET != ids.PAD
    torch.testing.assert_close(model.hidden(SOURCE, TARGET)[real], expected[real], rtol=1e-5, atol=1e-5)
