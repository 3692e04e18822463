"""Recurrent encoders of padded sentences, which encode each row as if it were alone.

A row's real positions come first. From left to right a state at a real position never sees the padding behind it. From
right to left a row's real positions are reversed before, so that the last real token is read first.
"""

import torch
from torch import Tensor, nn

from .cells import ResetBeforeCell, ResetGate, in_dtype_of, without_autocast


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Each row with its first `lengths` positions reversed and the others unchanged.

    Shapes: x (B, S) or (B, S, D), lengths (B,) -> as x.
    """
    positions = torch.arange(x.shape[1], device=x.device)  # (S,)
    index = torch.where(positions < lengths[:, None], lengths[:, None] - 1 - positions, positions)  # (B, S)
    return x.gather(1, index if x.dim() == 2 else index[:, :, None].expand_as(x))


class ForwardGRU(nn.Module):
    """A GRU from left to right; torch's fused one if the reset gate acts after the recurrent product."""

    def __init__(self, input_size: int, width: int, reset_gate: ResetGate) -> None:
        super().__init__()
        self.cell = ResetBeforeCell(input_size, width) if reset_gate == "before" else None
        self.fused = nn.GRU(input_size, width, batch_first=True) if reset_gate == "after" else None

    def forward(self, x: Tensor) -> Tensor:
        """The state at every position: (B, S, E) -> (B, S, D)."""
        if self.cell is None:
            assert self.fused is not None
            with without_autocast(x.device):  # which on a GPU runs a GRU in fp16, whatever dtype is asked for
                return self.fused(*in_dtype_of(next(self.fused.parameters()), x))[0]
        state, states = x.new_zeros(len(x), self.cell.width), []
        for projected in self.cell.input(x).unbind(1):
            state = self.cell.advance(projected, state)
            states.append(state)
        return torch.stack(states, dim=1)


class GRUEncoder(nn.Module):
    """A GRU over the source, or one per direction with concatenated states (D = width or 2 * width)."""

    def __init__(self, input_size: int, width: int, *, reset_gate: ResetGate, bidirectional: bool) -> None:
        super().__init__()
        self.width = width
        self.forwards = ForwardGRU(input_size, width, reset_gate)
        self.backwards = ForwardGRU(input_size, width, reset_gate) if bidirectional else None

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The states at all positions, meaningless at padding: (B, S, E), (B,) -> (B, S, D)."""
        states: Tensor = self.forwards(x)
        if self.backwards is None:
            return states
        return torch.cat((states, reverse(self.backwards(reverse(x, lengths)), lengths)), dim=2)

    def final(self, states: Tensor, lengths: Tensor) -> Tensor:
        """The last state of each direction: (B, S, D), (B,) -> (B, D)."""
        final = states[torch.arange(len(states), device=states.device), lengths - 1, : self.width]
        return final if self.backwards is None else torch.cat((final, states[:, 0, self.width :]), dim=1)


class ForwardLSTM(nn.Module):
    """An LSTM from left to right that also returns all its cell states, as torch's fused one does not.

    Source: Hochreiter and Schmidhuber 1997 with forget gates, in the order and with the weights of `nn.LSTM`.
    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(input_size, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell state at every position: (B, S, E) -> (B, S, D) twice."""
        cell = self.cell
        inputs = nn.functional.linear(x, cell.weight_ih, cell.bias_ih + cell.bias_hh)  # (B, S, 4D)
        h = c = x.new_zeros(len(x), cell.hidden_size)
        states: list[tuple[Tensor, Tensor]] = []
        for projected in inputs.unbind(1):
            gates = torch.addmm(projected, h, cell.weight_hh.t())
            i, f, g, o = gates.chunk(4, dim=1)  # input, forget, candidate, output
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append((h, c))
        hidden_states, cell_states = zip(*states, strict=True)
        return torch.stack(hidden_states, dim=1), torch.stack(cell_states, dim=1)


class LSTMEncoder(nn.Module):
    """An LSTM per direction, with concatenated states."""

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.forwards = ForwardLSTM(input_size, width)
        self.backwards = ForwardLSTM(input_size, width)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell states at all positions: (B, S, E), (B,) -> (B, S, 2 * width) twice."""
        forwards = self.forwards(x)
        backwards = (reverse(states, lengths) for states in self.backwards(reverse(x, lengths)))
        hidden_states, cell_states = (torch.cat(pair, dim=2) for pair in zip(forwards, backwards, strict=True))
        return hidden_states, cell_states
