"""Encoders against torch's own, which read each sentence alone and without padding."""

import pytest
import torch
from torch import nn

from pipeline.layers.recurrent_encoder import ForwardLSTM, GRUEncoder, LSTMEncoder, last_real, reverse

LENGTHS = torch.tensor([5, 2, 1])


@pytest.fixture
def x():
    torch.manual_seed(1)
    return torch.randn(3, 5, 3)


def test_real_positions_are_reversed_and_padding_stays():
    rows = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
    assert reverse(rows, torch.tensor([4, 2, 1])).tolist() == [[4, 3, 2, 1], [6, 5, 0, 0], [7, 0, 0, 0]]
    assert reverse(rows, torch.tensor([3, 1, 0])).tolist() == [[3, 2, 1, 4], [5, 6, 0, 0], [7, 0, 0, 0]]


def test_vectors_are_reversed_too(x):
    reversed_x = reverse(x, LENGTHS)
    assert torch.equal(reversed_x[0], x[0].flip(0))
    assert torch.equal(reversed_x[1], x[1, [1, 0, 2, 3, 4]])
    assert torch.equal(reverse(reversed_x, LENGTHS), x)


def test_the_last_real_position(x):
    assert torch.equal(last_real(x, LENGTHS), torch.stack([x[0, 4], x[1, 1], x[2, 0]]))


@torch.no_grad()
def test_a_gru_in_both_directions_is_torchs_packed_one(x):
    encoder = GRUEncoder(3, 4, reset_gate="after", bidirectional=True)
    torchs = nn.GRU(3, 4, batch_first=True, bidirectional=True)
    ours = encoder.forwards.fused.state_dict()
    ours |= {f"{name}_reverse": weight for name, weight in encoder.backwards.fused.state_dict().items()}
    torchs.load_state_dict(ours)
    packed = nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True)
    states, final = torchs(packed)
    states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    found = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(found[row, :length], states[row, :length])
    torch.testing.assert_close(encoder.final(found, LENGTHS), torch.cat([final[0], final[1]], dim=1))


@torch.no_grad()
def test_one_direction_ends_at_the_last_real_token(x):
    encoder = GRUEncoder(3, 4, reset_gate="before", bidirectional=False)
    found = encoder.final(encoder(x, LENGTHS), LENGTHS)
    for row, length in enumerate(LENGTHS):
        state = torch.zeros(1, 4)
        for step in range(length):
            state = encoder.forwards.cell(x[row, step][None], state)
        torch.testing.assert_close(found[row], state[0])


@torch.no_grad()
def test_an_lstm_is_torchs_and_gives_its_cell_states(x):
    lstm = ForwardLSTM(3, 4)
    torchs = nn.LSTM(3, 4, batch_first=True)
    torchs.load_state_dict({f"{name}_l0": weight for name, weight in lstm.cell.state_dict().items()})
    hiddens, cells = lstm(x)
    for length in range(1, 6):
        states, (_, cell) = torchs(x[:, :length])
        torch.testing.assert_close(hiddens[:, :length], states)
        torch.testing.assert_close(cells[:, length - 1], cell[0])


@torch.no_grad()
def test_both_directions_of_an_lstm(x):
    encoder = LSTMEncoder(3, 4)
    hiddens, cells = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone = x[row, :length][None]
        ahead, back = encoder.forwards(alone), encoder.backwards(alone.flip(1))
        for found, there, back_again in zip((hiddens, cells), ahead, back, strict=True):
            torch.testing.assert_close(found[row, :length], torch.cat([there, back_again.flip(1)], dim=2)[0])


@pytest.mark.gpu
@torch.no_grad()
def test_a_gpu_reads_in_fp32_whatever_autocast_says(monkeypatch, x):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    encoder = GRUEncoder(3, 4, reset_gate="after", bidirectional=True)
    expected = encoder(x, LENGTHS)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = encoder.to("cuda")(x.to("cuda"), LENGTHS.to("cuda"))
    assert found.dtype == torch.float32
    assert torch.allclose(found.cpu(), expected, atol=1e-5)
