"""Matrix products whose sums for a row do not depend on the other rows, in place of those that recurrent models use."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from pipeline.kernels import dispatch

LANES = 32  # numbers that torch computes at a time with AVX-512, two vectors; with others fewer


class RowwiseProducts(TorchFunctionMode):
    """While it is entered, products with a parameter are prepacked, and cells are made of such products.

    Linear layers outside of `layers.linear`, cells and the scores of additive attention come by here. MKL would sum few
    rows in another order than many. No parameter may change from the first use on.

    Functions of single numbers are taken of whole vectors only: torch computes what is left over in another way, and
    which numbers those are depends on how many rows there are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.prepacked: dict[tuple[int, ...], tuple[Tensor, dispatch.LinearMap]] = {}
        self.ours: dict[str, Callable[..., Any]] = {
            "linear": self.linear,
            "addmm": self.addmm,
            "gru_cell": self.gru_cell,
            "lstm_cell": self.lstm_cell,
            "gru": self.gru,
            "matmul": self.matmul,
            "__matmul__": self.matmul,
            **{name: partial(whole_vectors, getattr(torch, name)) for name in ("tanh", "sigmoid", "exp")},
        }

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """What torch calls in place of `func`."""
        ours = self.ours.get(getattr(func, "__name__", ""))
        return (ours or func)(*args, **(kwargs or {}))

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Shapes: x (..., D), weight (F, D), bias (F,) -> (..., F)."""
        key = (weight.data_ptr(), *weight.shape, *weight.stride())
        if key not in self.prepacked:  # with the weight, lest another one comes to its place in memory
            self.prepacked[key] = weight, dispatch.prepack_linear(weight.contiguous(), None)
        product = self.prepacked[key][1](x)
        return product if bias is None else product + bias

    def addmm(self, addend: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """Shapes: addend (N, F), x (N, D), weight (D, F) -> (N, F)."""
        return addend + self.linear(x, weight.t())

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Those of attention scores: (..., D), (D,) -> (...) with parameters, and (N, S, D), (N, D, 1) -> (N, S, 1)."""
        if y.dim() == 1 and isinstance(y, torch.nn.Parameter):
            return self.linear(x, y[None]).squeeze(-1)
        if x.dim() == y.dim() == 3 and y.shape[2] == 1:
            return (x * y.transpose(1, 2)).sum(dim=2, keepdim=True)
        return torch.matmul(x, y)

    def gru_cell(
        self, x: Tensor, h: Tensor, inward: Tensor, recurrent: Tensor, bias: Tensor, recurrent_bias: Tensor
    ) -> Tensor:
        """torch's GRU cell: (N, I), (N, D) -> (N, D)."""
        return gru_step(self.linear(x, inward, bias), self.linear(h, recurrent, recurrent_bias), h)

    def gru(
        self, x: Tensor, h: Tensor, weights: Sequence[Tensor], has_biases: bool, layers: int, *others: Any
    ) -> tuple[Tensor, Tensor]:
        """torch's GRU of one layer and direction with (B, S, I) as its input: -> (B, S, D) and (1, B, D)."""
        assert has_biases, "a GRU of `recurrent_encoder`"
        inward, recurrent, bias, recurrent_bias = weights
        state, states = h[0], []
        for projected in self.linear(x, inward, bias).unbind(1):
            state = gru_step(projected, self.linear(state, recurrent, recurrent_bias), state)
            states.append(state)
        return torch.stack(states, dim=1), state[None]

    def lstm_cell(
        self,
        x: Tensor,
        state: tuple[Tensor, Tensor],
        inward: Tensor,
        recurrent: Tensor,
        bias: Tensor,
        recurrent_bias: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """torch's LSTM cell: (N, I), (N, D) twice -> (N, D) twice."""
        h, c = state
        gates = self.linear(x, inward, bias) + self.linear(h, recurrent, recurrent_bias)
        i, f, g, o = gates.chunk(4, dim=1)
        sigmoid, tanh = partial(whole_vectors, torch.sigmoid), partial(whole_vectors, torch.tanh)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c


def gru_step(inward: Tensor, recurrent: Tensor, h: Tensor) -> Tensor:
    """The next state of torch's GRU, given both products: (N, 3D) twice, (N, D) -> (N, D)."""
    (reset_in, update_in, new_in), (reset_by, update_by, new_by) = inward.chunk(3, dim=1), recurrent.chunk(3, dim=1)
    sigmoid, tanh = partial(whole_vectors, torch.sigmoid), partial(whole_vectors, torch.tanh)
    reset, update = sigmoid(reset_in + reset_by), sigmoid(update_in + update_by)
    new = tanh(new_in + reset * new_by)
    return new + update * (h - new)


def whole_vectors(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A function of each number of (..., D), with zeros behind each row up to whole vectors."""
    extra = -x.shape[-1] % LANES
    return function(F.pad(x, (0, extra)))[..., : x.shape[-1]]
