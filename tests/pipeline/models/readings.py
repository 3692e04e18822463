"""The equations of the recurrent models read anew: one sentence, one vector and one time step at a time."""

import math

import torch
from torch import Tensor

from pipeline.compute import ids
from tests.toys.networks import SOURCE, TARGET


def weights(model) -> dict[str, Tensor]:
    """Every weight by its name."""
    return {name: weight.detach() for name, weight in model.named_parameters()}


def pieces(row: Tensor) -> list[int]:
    """A padded row's real pieces."""
    return [piece for piece in row.tolist() if piece != ids.PAD]


@torch.no_grad()
def check(model, reading) -> None:
    """A model's hidden vectors and attention are those of `reading(source, target)`, a sentence at a time."""
    hidden, attention = model.hidden(SOURCE, TARGET), model.attention(SOURCE, TARGET)
    for row in range(len(SOURCE)):
        expected, weights = reading(SOURCE[row], TARGET[row])
        torch.testing.assert_close(hidden[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)
        for matrices in attention.values():
            seen = matrices[row, 0, : len(weights), : weights.shape[1]]
            torch.testing.assert_close(seen, weights, rtol=1e-5, atol=1e-5)
    bias = 0 if model.output.bias is None else model.output.bias
    torch.testing.assert_close(model.logits(hidden), hidden @ model.output.weight.T + bias)


def sigma(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def softmax(scores: list[Tensor]) -> list[Tensor]:
    """By its definition."""
    powers = [torch.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def gru_before(w: dict[str, Tensor], name: str, x: Tensor, h: Tensor) -> Tensor:
    """h~ = tanh(W x + U (r * h)); h' = (1 - z) h + z h~."""
    (wr, wz, wn), (br, bz, bn) = w[f"{name}.input.weight"].chunk(3), w[f"{name}.input.bias"].chunk(3)
    ur, uz = w[f"{name}.gates.weight"].chunk(2)
    r, z = sigma(wr @ x + ur @ h + br), sigma(wz @ x + uz @ h + bz)
    new = torch.tanh(wn @ x + w[f"{name}.candidate.weight"] @ (r * h) + bn)
    return (1 - z) * h + z * new


def gru_after(w: dict[str, Tensor], name: str, x: Tensor, h: Tensor, ending: str = "") -> Tensor:
    """torch's: n = tanh(W x + b + r * (U h + c)); h' = (1 - z) n + z h."""
    (wr, wz, wn), (br, bz, bn) = (w[f"{name}.{kind}_ih{ending}"].chunk(3) for kind in ("weight", "bias"))
    (ur, uz, un), (cr, cz, cn) = (w[f"{name}.{kind}_hh{ending}"].chunk(3) for kind in ("weight", "bias"))
    r, z = sigma(wr @ x + br + ur @ h + cr), sigma(wz @ x + bz + uz @ h + cz)
    return (1 - z) * torch.tanh(wn @ x + bn + r * (un @ h + cn)) + z * h


def lstm(w: dict[str, Tensor], name: str, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Input, forget and output gate, torch's order of weights."""
    wi, wf, wg, wo = w[f"{name}.weight_ih"].chunk(4)
    ui, uf, ug, uo = w[f"{name}.weight_hh"].chunk(4)
    bi, bf, bg, bo = (w[f"{name}.bias_ih"] + w[f"{name}.bias_hh"]).chunk(4)
    i, f, o = sigma(wi @ x + ui @ h + bi), sigma(wf @ x + uf @ h + bf), sigma(wo @ x + uo @ h + bo)
    c = f * c + i * torch.tanh(wg @ x + ug @ h + bg)
    return o * torch.tanh(c), c


def maxout(w: dict[str, Tensor], x: Tensor) -> Tensor:
    """max{t_1, t_2}, max{t_3, t_4}, ..."""
    t = (w["maxout.units.weight"] @ x + w["maxout.units.bias"]).tolist()
    return torch.tensor([max(t[j], t[j + 1]) for j in range(0, len(t), 2)])


def additive(w: dict[str, Tensor], s: Tensor, h: list[Tensor]) -> list[Tensor]:
    """e_j = v^T tanh(W s + b + U h_j)."""
    query = w["scoring.query.weight"] @ s + w["scoring.query.bias"]
    return [w["scoring.v"] @ torch.tanh(query + w["scoring.key.weight"] @ state) for state in h]


def context(a: list[Tensor], h: list[Tensor]) -> Tensor:
    """c = sum_j a_j h_j."""
    return sum(weight * state for weight, state in zip(a, h, strict=True))


def local(w: dict[str, Tensor], scores: list[Tensor], s: Tensor, window: int, deviation: float) -> list[Tensor]:
    """softmax within the window around the centre, times the Gaussian."""
    inner = torch.tanh(w["scope.centre_in.weight"] @ s)
    centre = len(scores) * sigma(w["scope.centre_out.weight"][0] @ inner).item()
    near = [j for j in range(len(scores)) if abs(j - centre) <= window]
    inside = dict(zip(near, softmax([scores[j] for j in near]), strict=True))
    gauss = [math.exp(-((j - centre) ** 2) / (2 * deviation**2)) for j in range(len(scores))]
    return [inside.get(j, torch.tensor(0.0)) * gauss[j] for j in range(len(scores))]
