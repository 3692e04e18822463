"""Scheduled teacher forcing; everything else about the loop is tested with the models."""

import pytest
import torch

from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET

MODELS = ["rnn_encdec", "gru_attention", "bilstm_attention", "rnnsearch"]


@torch.no_grad()
def own_pieces(model):
    """What the model reads if from the second step on it reads only its own pieces: (B, T)."""
    state, tokens, read = model.start(SOURCE), TARGET[:, 0], []
    for _ in range(TARGET.shape[1]):
        read.append(tokens)
        hidden, state = model.step(state, tokens)
        tokens = model.logits(hidden).argmax(dim=1)
    return torch.stack(read, dim=1)


@pytest.mark.parametrize("name", MODELS)
def test_without_teacher_forcing_it_reads_its_own_pieces(name):
    model = networks.build(name, teacher_forcing=0.0)
    expected = model.hidden(SOURCE, own_pieces(model))
    torch.testing.assert_close(model.train().hidden(SOURCE, TARGET), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_evaluation_always_forces_the_true_pieces(name):
    model = networks.build(name, teacher_forcing=0.0)
    assert torch.equal(model.hidden(SOURCE, TARGET), networks.build(name).hidden(SOURCE, TARGET))


@pytest.mark.parametrize("name", MODELS)
def test_forced_steps_are_drawn_from_torchs_generator(name):
    model = networks.build(name, teacher_forcing=0.5).train()
    found = []
    for seed in (1, 1, 2, 3, 4, 5):
        torch.manual_seed(seed)
        found.append(model.hidden(SOURCE, TARGET))
    assert torch.equal(found[0], found[1])
    assert len({tuple(one.flatten().tolist()) for one in found}) > 2


@pytest.mark.parametrize("name", MODELS)
def test_gradients_flow_in_bf16_when_it_reads_its_own_pieces(name):
    """Its own pieces are chosen without gradient, which must not stop the gradient of the same weights elsewhere."""
    model = networks.build(name, teacher_forcing=0.0).train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model.logits(model.hidden(SOURCE, TARGET))
    torch.autograd.backward(logits.float().logsumexp(2).sum())
    assert [n for n, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()] == []


@pytest.mark.parametrize("name", MODELS)
def test_dropout_is_on_embeddings_and_on_what_the_output_reads(name):
    model = networks.build(name, dropout=0.5, output_dropout=0.5).train()
    hidden = model.hidden(SOURCE, TARGET)
    assert not torch.equal(hidden, model.hidden(SOURCE, TARGET))
    assert not torch.equal(model.logits(hidden), model.logits(hidden))
    model.eval()
    assert torch.equal(model.logits(hidden), model.logits(hidden))
