"""Recurrent cells, which make the next state of an input and the state before, and their initial weights."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import Tensor, nn

ResetGate = Literal["before", "after"]


class ResetBeforeCell(nn.Module):
    """The GRU of Cho et al. 2014, whose reset gate acts on the state before the recurrent product.

        r, z = sigmoid(W x + U h + b)      n = tanh(W_n x + U_n (r * h) + b_n)      h' = (1 - z) h + z n

    Source: Cho et al. 2014, section 2.3, with z as in Bahdanau et al. 2015, appendix A.1.1; torch's cell
        computes r * (U_n h) instead, and swaps z and 1 - z.
    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.input = nn.Linear(input_size, 3 * width)  # of r, z and n
        self.gates = nn.Linear(width, 2 * width, bias=False)  # of r and z
        self.candidate = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """Shapes: x (N, I), state (N, D) -> (N, D)."""
        return self.advance(self.input(x), state)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        """The next state, given W x + b of all inputs at once: (N, 3D), (N, D) -> (N, D)."""
        gates, candidate = projected.tensor_split((2 * self.width,), dim=1)
        reset, update = torch.sigmoid(gates + self.gates(state)).chunk(2, dim=1)
        return state + update * (torch.tanh(candidate + self.candidate(reset * state)) - state)


class GRUCell(nn.GRUCell):
    """torch's own, whose reset gate acts after the recurrent product. In fp32 on a GPU, see `without_autocast`."""

    def forward(self, x: Tensor, state: Tensor) -> Tensor:  # type: ignore[override]  # the state is always given
        """Shapes: x (N, I), state (N, D) -> (N, D)."""
        with without_autocast(x.device):
            return super().forward(*in_dtype_of(self.weight_hh, x, state))


class LSTMCell(nn.LSTMCell):
    """torch's own. In fp32 on a GPU, see `without_autocast`."""

    def forward(  # type: ignore[override]  # the state is always given
        self, x: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Shapes: x (N, I), state (N, D) twice -> (N, D) twice."""
        with without_autocast(x.device):
            x, hidden, memory = in_dtype_of(self.weight_hh, x, *state)
            return super().forward(x, (hidden, memory))


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """No autocast on a GPU, where it would give a cell's next state in bf16, and lose what is small beside the state.

    On a CPU it makes only the products of a cell in bf16.
    """
    return torch.autocast(device.type, enabled=False) if device.type == "cuda" else nullcontext()


def in_dtype_of(weight: Tensor, *values: Tensor) -> list[Tensor]:
    """The values as the cell with this weight takes them: on a GPU in the weight's dtype, on a CPU in their own."""
    return [value.to(weight.dtype) if value.device.type == "cuda" else value for value in values]


def gru_cell(reset_gate: ResetGate, input_size: int, width: int) -> nn.Module:
    """A GRU cell: torch's own if the reset gate acts after the recurrent product."""
    return ResetBeforeCell(input_size, width) if reset_gate == "before" else GRUCell(input_size, width)


def initialise(model: nn.Module) -> None:
    """Start weights in place: recurrent matrices orthogonal, matrices of `scoring` N(0, 0.001^2), others N(0, 0.01^2).

    Vectors start at 0.

    Source: Bahdanau et al. 2015, appendix B.1, where the vector v of the scoring starts at 0 too.
    """
    for name, weight in model.named_parameters():
        if "weight_hh" in name or name.endswith(("cell.gates.weight", "cell.candidate.weight")):
            for block in weight.data.chunk(len(weight) // weight.shape[1]):  # square matrices, one above the other
                nn.init.orthogonal_(block)
        elif weight.dim() == 1:
            nn.init.zeros_(weight)
        else:
            nn.init.normal_(weight, std=0.001 if name.startswith("scoring.") else 0.01)
