import pytest
import torch
from torch import nn

from pipeline.layers.cells import GRUCell, LSTMCell, ResetBeforeCell, gru_cell, is_recurrent, orthogonal_blocks_


def test_a_cell_by_hand():
    """One unit, x = 1, h = 0.5: r = sigmoid(0.2), z = sigmoid(-0.1), n = tanh(0.3 + 2 r 0.5)."""
    cell = ResetBeforeCell(1, 1)
    with torch.no_grad():
        cell.input.weight.copy_(torch.tensor([[0.1], [-0.2], [0.2]]))
        cell.input.bias.copy_(torch.tensor([0.0, 0.0, 0.1]))
        cell.gates.weight.copy_(torch.tensor([[0.2], [0.2]]))
        cell.candidate.weight.copy_(torch.tensor([[2.0]]))
    # r = 0.549834, z = 0.475021, n = tanh(0.849834) = 0.690982, h' = 0.524979 * 0.5 + 0.475021 * 0.690982
    assert cell(torch.tensor([[1.0]]), torch.tensor([[0.5]])).item() == pytest.approx(0.590721, abs=1e-6)


def test_both_reset_gates_agree_when_open():
    """With r = 1 it does not matter whether r acts before the product or after; torch's z is our 1 - z."""
    torch.manual_seed(1)
    ours, torchs = ResetBeforeCell(3, 4), nn.GRUCell(3, 4)
    with torch.no_grad():
        ours.input.bias[:4] = 50.0
        flip = torch.tensor([1.0, -1.0, 1.0]).repeat_interleave(4)
        torchs.weight_ih.copy_(ours.input.weight * flip[:, None])
        torchs.bias_ih.copy_(ours.input.bias * flip)
        torchs.weight_hh.copy_(torch.cat([ours.gates.weight, ours.candidate.weight]) * flip[:, None])
        torchs.bias_hh.zero_()
    x, state = torch.randn(5, 3), torch.randn(5, 4)
    torch.testing.assert_close(ours(x, state), torchs(x, state))


def test_each_square_block_is_made_orthogonal():
    matrix = nn.Parameter(torch.randn(12, 4))
    orthogonal_blocks_(matrix)
    for block in matrix.detach().split(4):
        torch.testing.assert_close(block @ block.T, torch.eye(4), atol=1e-5, rtol=0)


@pytest.mark.parametrize("reset_gate", ["before", "after"])
def test_recurrent_weights_are_recognised_by_name(reset_gate):
    cell = nn.ModuleDict({"cell": gru_cell(reset_gate, 5, 7)})
    found = [weight.shape for name, weight in cell.named_parameters() if is_recurrent(name)]
    assert found == ([(14, 7), (7, 7)] if reset_gate == "before" else [(21, 7)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_a_cpu_torchs_cells_are_as_they_are(dtype):
    x, state = torch.randn(5, 3), torch.randn(5, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        for cell, plain, given in ((GRUCell, nn.GRUCell, state), (LSTMCell, nn.LSTMCell, (state, state + 1))):
            ours, torchs = cell(3, 4), plain(3, 4)
            torchs.load_state_dict(ours.state_dict())
            assert torch.equal(torch.stack([*ours(x, given)]), torch.stack([*torchs(x, given)]))


@pytest.mark.gpu
def test_on_a_gpu_states_stay_in_fp32():
    x, state = torch.randn(5, 3, device="cuda").bfloat16(), torch.randn(5, 4, device="cuda")
    gru, lstm = GRUCell(3, 4).cuda(), LSTMCell(3, 4).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        states = [gru(x, state), *lstm(x, (state, state))]
    assert {one.dtype for one in states} == {torch.float32}
    torch.testing.assert_close(states[0], gru(x.float(), state))
