import pytest
import torch
from torch import nn

from pipeline.decoding.products import RowwiseProducts

torch.manual_seed(1)
X, H, C = torch.randn(37, 24), torch.randn(37, 16), torch.randn(37, 16)
GRU, LSTM, LINEAR = nn.GRUCell(24, 16), nn.LSTMCell(24, 16), nn.Linear(24, 16)
SEQUENCE, VECTOR = nn.GRU(24, 16, batch_first=True), nn.Parameter(torch.randn(24))
PRODUCTS = {
    "linear": lambda rows: LINEAR(X[rows]),
    "addmm": lambda rows: torch.addmm(H[rows], X[rows], LINEAR.weight.t()),
    "gru cell": lambda rows: GRU(X[rows], H[rows]),
    "lstm cell": lambda rows: torch.cat(LSTM(X[rows], (H[rows], C[rows])), dim=1),
    "gru": lambda rows: SEQUENCE(torch.stack((X[rows], 2 * X[rows]), dim=1))[0],
    "vector": lambda rows: torch.stack((X[rows], X[rows]), dim=1) @ VECTOR,
    "scores": lambda rows: (X.view(37, 4, 6)[rows] @ X[rows][:, :6, None]).squeeze(2),
    **{f.__name__: lambda rows, f=f: f(X[rows]) for f in (torch.tanh, torch.sigmoid, torch.exp)},
    "others": lambda rows: X[rows] @ X.t(),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_values_are_torchs_and_rows_independent(name):
    product = PRODUCTS[name]
    with torch.inference_mode():
        expected = product(slice(None))
        with RowwiseProducts():
            found = product(slice(None))
            if name != "others":
                for rows in (slice(0, 1), slice(5, 7), slice(1, 20)):
                    assert torch.equal(product(rows), found[rows])
    assert torch.allclose(found, expected, atol=1e-5)
