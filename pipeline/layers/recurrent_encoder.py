"""Recurrent encoders of padded sentences: each row is read as if it stood alone.

A row's real positions come first. Reading from left to right, a real state never sees the padding behind it; reading
from right to left, the row's real positions are turned round first, so that the last real token is read first.
"""

import torch
from torch import Tensor, nn

from pipeline.layers.cells import ResetBeforeCell, ResetGate


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Each row with its first `lengths` positions in reverse order, the others where they are.

    Shapes: x (B, S) or (B, S, D), lengths (B,) -> as x.
    """
    places = torch.arange(x.shape[1], device=x.device)  # (S,)
    turned = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)  # (B, S)
    return x.gather(1, turned if x.dim() == 2 else turned[:, :, None].expand_as(x))


def last(x: Tensor, lengths: Tensor) -> Tensor:
    """The last real position of each row: (B, S, D), (B,) -> (B, D)."""
    return x[torch.arange(len(x), device=x.device), lengths - 1]


class GRUReader(nn.Module):
    """One GRU from left to right; torch's fused one where the reset gate acts after the recurrent product."""

    def __init__(self, input_size: int, width: int, reset_gate: ResetGate) -> None:
        super().__init__()
        self.cell = ResetBeforeCell(input_size, width) if reset_gate == "before" else None
        self.fused = nn.GRU(input_size, width, batch_first=True) if reset_gate == "after" else None

    def forward(self, x: Tensor) -> Tensor:
        """The state at every position: (B, S, E) -> (B, S, D)."""
        if self.cell is None:
            assert self.fused is not None
            if x.device.type == "cuda":  # whose autocast takes fp16 for it, whatever type is asked for
                with torch.autocast("cuda", enabled=False):
                    return self.fused(x.to(next(self.fused.parameters()).dtype))[0]
            return self.fused(x)[0]
        state, states = x.new_zeros(len(x), self.cell.width), []
        for product in self.cell.input(x).unbind(1):
            state = self.cell.advance(product, state)
            states.append(state)
        return torch.stack(states, dim=1)


class GRUEncoder(nn.Module):
    """A GRU over the source, or one in each direction, their states side by side (D = width or 2 * width)."""

    def __init__(self, input_size: int, width: int, *, reset_gate: ResetGate, bidirectional: bool) -> None:
        super().__init__()
        self.width = width
        self.forwards = GRUReader(input_size, width, reset_gate)
        self.backwards = GRUReader(input_size, width, reset_gate) if bidirectional else None

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The states of every position, of no meaning where there is padding: (B, S, E), (B,) -> (B, S, D)."""
        states: Tensor = self.forwards(x)
        if self.backwards is None:
            return states
        return torch.cat((states, reverse(self.backwards(reverse(x, lengths)), lengths)), dim=2)

    def final(self, states: Tensor, lengths: Tensor) -> Tensor:
        """What each direction had read at its end: (B, S, D), (B,) -> (B, D)."""
        final = last(states[:, :, : self.width], lengths)
        return final if self.backwards is None else torch.cat((final, states[:, 0, self.width :]), dim=1)


class LSTMReader(nn.Module):
    """One LSTM from left to right that gives its cell states too, which torch's fused one keeps to itself.

    Source: Hochreiter and Schmidhuber 1997 with forget gates, in the order and with the weights of `nn.LSTM`.
    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(input_size, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell state at every position: (B, S, E) -> (B, S, D) twice."""
        cell = self.cell
        products = nn.functional.linear(x, cell.weight_ih, cell.bias_ih + cell.bias_hh)  # (B, S, 4D)
        hidden = memory = x.new_zeros(len(x), cell.hidden_size)
        states: list[tuple[Tensor, Tensor]] = []
        for product in products.unbind(1):
            gates = torch.addmm(product, hidden, cell.weight_hh.t())
            take, keep, new, show = gates.chunk(4, dim=1)
            memory = torch.sigmoid(keep) * memory + torch.sigmoid(take) * torch.tanh(new)
            hidden = torch.sigmoid(show) * torch.tanh(memory)
            states.append((hidden, memory))
        hiddens, memories = zip(*states, strict=True)
        return torch.stack(hiddens, dim=1), torch.stack(memories, dim=1)


class LSTMEncoder(nn.Module):
    """An LSTM in each direction, their states side by side."""

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.forwards = LSTMReader(input_size, width)
        self.backwards = LSTMReader(input_size, width)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell states of every position: (B, S, E), (B,) -> (B, S, 2 * width) twice."""
        ahead = self.forwards(x)
        back = (reverse(states, lengths) for states in self.backwards(reverse(x, lengths)))
        hiddens, memories = (torch.cat(pair, dim=2) for pair in zip(ahead, back, strict=True))
        return hiddens, memories
