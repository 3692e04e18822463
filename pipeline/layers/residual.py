"""Two ways to wrap a sub-layer: LayerNorm after the sum, or before the sub-layer."""

from collections.abc import Callable

from torch import Tensor, nn

from .dropout import Dropout

EPSILON = 1e-6  # of both publications; torch's own default is 1e-5


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(f(x))).

        x ──┬── f ── dropout ── + ── norm ──>
            └───────────────────┘

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, width: int, dropout: float, epsilon: float = EPSILON) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=epsilon)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Shapes: x (B, T, D) -> (B, T, D)."""
        return self.norm(x + self.dropout(sublayer(x)))


class PreNorm(nn.Module):
    """x + Dropout(f(LayerNorm(x))); the stack adds one norm at its end.

        x ──┬── norm ── f ── dropout ── + ──>
            └───────────────────────────┘

    Source: the Annotated Transformer; Xiong et al. 2020 say why it needs less warm-up.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Shapes: x (B, T, D) -> (B, T, D)."""
        return x + self.dropout(sublayer(self.norm(x)))
