"""Cells and encoders against torch's own, which read each sentence alone and without padding; teacher forcing."""

import pytest
import torch
from torch import nn

from pipeline.layers.cells import GRUCell, LSTMCell, gru_cell, initialise
from pipeline.layers.recurrent_encoder import ForwardLSTM, GRUEncoder, reverse
from tests.toys import networks
from tests.toys.networks import SOURCE, TARGET

LENGTHS = torch.tensor([5, 2, 1])


@pytest.fixture
def x():
    torch.manual_seed(1)
    return torch.randn(3, 5, 3)


@pytest.mark.parametrize(("reset_gate", "names"), [("before", ["gates", "candidate"]), ("after", ["weight_hh"])])
def test_each_square_block_of_recurrent_weights_starts_orthogonal(reset_gate, names):
    initialise(cell := nn.ModuleDict({"cell": gru_cell(reset_gate, 5, 7)}))
    for name, weight in cell.named_parameters():
        if weight.dim() > 1:
            are_orthogonal = [torch.allclose(one @ one.T, torch.eye(7), atol=1e-5) for one in weight[:, :7].split(7)]
            assert are_orthogonal == [any(part in name for part in names)] * (len(weight) // 7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_a_cpu_cells_are_torchs(dtype):
    x, state = torch.randn(5, 3), torch.randn(5, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        for cell, plain, given in ((GRUCell, nn.GRUCell, state), (LSTMCell, nn.LSTMCell, (state, state + 1))):
            ours, torchs = cell(3, 4), plain(3, 4)
            torchs.load_state_dict(ours.state_dict())
            assert torch.equal(torch.stack([*ours(x, given)]), torch.stack([*torchs(x, given)]))


@pytest.mark.gpu
@torch.no_grad()
def test_on_a_gpu_states_stay_in_fp32_whatever_autocast_says(monkeypatch, x):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    gru, lstm = GRUCell(3, 4).cuda(), LSTMCell(3, 4).cuda()
    encoder = GRUEncoder(3, 4, reset_gate="after", bidirectional=True)
    expected, state = encoder(x, LENGTHS), torch.randn(3, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        step = x[:, 0].cuda().bfloat16()
        found = [gru(step, state), *lstm(step, (state, state)), encoder.cuda()(x.cuda(), LENGTHS.cuda())]
    assert {one.dtype for one in found} == {torch.float32}
    torch.testing.assert_close(found[0], gru(step.float(), state))
    torch.testing.assert_close(found[-1].cpu(), expected, rtol=1e-5, atol=1e-5)


def test_real_positions_are_reversed_and_padding_stays(x):
    rows = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
    assert reverse(rows, torch.tensor([4, 2, 1])).tolist() == [[4, 3, 2, 1], [6, 5, 0, 0], [7, 0, 0, 0]]
    assert torch.equal(reverse(reverse(x, LENGTHS), LENGTHS), x)


@torch.no_grad()
def test_a_gru_in_both_directions_is_torchs_packed_one(x):
    encoder = GRUEncoder(3, 4, reset_gate="after", bidirectional=True)
    torchs = nn.GRU(3, 4, batch_first=True, bidirectional=True)
    ours = encoder.forwards.fused.state_dict()
    ours |= {f"{name}_reverse": weight for name, weight in encoder.backwards.fused.state_dict().items()}
    torchs.load_state_dict(ours)
    states, final = torchs(nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True))
    states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    hidden = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(hidden[row, :length], states[row, :length])
    torch.testing.assert_close(encoder.final(hidden, LENGTHS), torch.cat([final[0], final[1]], dim=1))


@torch.no_grad()
def test_an_lstm_is_torchs_and_gives_its_cell_states(x):
    lstm, torchs = ForwardLSTM(3, 4), nn.LSTM(3, 4, batch_first=True)
    torchs.load_state_dict({f"{name}_l0": weight for name, weight in lstm.cell.state_dict().items()})
    hidden, cells = lstm(x)
    for length in range(1, 6):
        states, (_, cell) = torchs(x[:, :length])
        torch.testing.assert_close(hidden[:, :length], states)
        torch.testing.assert_close(cells[:, length - 1], cell[0])


MODELS = pytest.mark.parametrize("name", ["rnn_encdec", "gru_attention", "bilstm_attention", "rnnsearch"])


@torch.no_grad()
def own_pieces(model):
    """What the model reads if from the second step on it reads only its own pieces: (B, T)."""
    state, tokens, read = model.start(SOURCE), TARGET[:, 0], []
    for _ in range(TARGET.shape[1]):
        read.append(tokens)
        hidden, state = model.step(state, tokens)
        tokens = model.logits(hidden).argmax(dim=1)
    return torch.stack(read, dim=1)


@MODELS
def test_without_teacher_forcing_a_model_reads_its_own_pieces_in_training_only(name):
    model, forced = networks.build(name, teacher_forcing=0.0), networks.build(name)
    assert torch.equal(model.hidden(SOURCE, TARGET), forced.hidden(SOURCE, TARGET))
    expected = model.hidden(SOURCE, own_pieces(model))
    torch.testing.assert_close(model.train().hidden(SOURCE, TARGET), expected, rtol=1e-5, atol=1e-5)


@MODELS
def test_forced_steps_are_drawn_from_torchs_generator(name):
    model, drawn = networks.build(name, teacher_forcing=0.5).train(), []
    for seed in (1, 1, 2, 3, 4, 5):
        torch.manual_seed(seed)
        drawn.append(model.hidden(SOURCE, TARGET))
    assert torch.equal(drawn[0], drawn[1])
    assert len({tuple(one.flatten().tolist()) for one in drawn}) > 2


@MODELS
def test_gradients_flow_in_bf16_when_a_model_reads_its_own_pieces(name):
    """Its own pieces are chosen without gradient, which must not stop the gradient of the same weights elsewhere."""
    model = networks.build(name, teacher_forcing=0.0).train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model.logits(model.hidden(SOURCE, TARGET))
    torch.autograd.backward(logits.float().logsumexp(2).sum())
    assert [n for n, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()] == []


@MODELS
def test_dropout_is_on_embeddings_and_on_what_the_output_reads(name):
    model = networks.build(name, dropout=0.5, output_dropout=0.5).train()
    hidden = model.hidden(SOURCE, TARGET)
    assert not torch.equal(hidden, model.hidden(SOURCE, TARGET))
    assert not torch.equal(model.logits(hidden), model.logits(hidden))
