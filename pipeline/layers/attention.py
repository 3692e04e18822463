"""Multi-head attention, the same numbers whether a sentence is read whole or step by step."""

import math

import torch
from torch import Tensor, nn

from pipeline.kernels import dispatch
from pipeline.layers.cache import Turn
from pipeline.layers.linear import Linear


class MultiHeadAttention(nn.Module):
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(K head width)) V in `heads` subspaces, then one projection.

    Source: Vaswani et al. 2017, section 3.2. One matrix `project_in` holds the query, key and value projections, in
    torch's order, so that self-attention is a single product.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        assert width % heads == 0, f"{heads} heads do not divide width {width}"
        self.width, self.heads, self.dropout = width, heads, dropout
        self.watched: list[Tensor] | None = None  # where the weights of each use go, while someone watches
        self.project_in = Linear(width, 3 * width)
        self.project_out = Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """Self-attention over a whole sentence.

        Shapes: x (B, T, D), mask (B, 1, 1 or T, T) with True where a position may be seen -> (B, T, D).
        """
        query, key, value = self.split(self.project_in(x))
        return self.join(self.mix(query, key, value, mask, causal=causal))

    def extend(self, x: Tensor, keys: Tensor, values: Tensor, turn: Turn) -> Tensor:
        """Self-attention of one new position to itself and all before it; its keys and values are written. No gradient.

        Shapes: x (N, 1, D), keys and values (P, H, C, K), the buffers of a search -> (N, 1, D).
        """
        query, key, value = self.split(self.project_in(x))
        turn.write(keys, key)
        turn.write(values, value)
        mixed = self.mix(turn.spread(query), turn.written(keys), turn.written(values), None)
        return self.join(turn.gathered(mixed))

    def remember(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of an encoded source, computed once a sentence.

        Shapes: memory (B, S, D) -> (B, H, S, K) twice.
        """
        key, value = self.split(self.project_in(memory, self.width))
        return key, value

    def look(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Cross-attention to what `remember` gave.

        Shapes: x (B, T, D), keys and values (B, H, S, K), mask (B, 1, 1, S) -> (B, T, D).
        """
        (query,) = self.split(self.project_in(x, 0, self.width))
        return self.join(self.mix(query, keys, values, mask))

    def mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """The values weighted by softmax(Q K^T / sqrt(K)): (B, H, T, K), (B, H, S, K) twice -> (B, H, T, K)."""
        if self.watched is not None:
            self.watched.append(attention_weights(query, key, mask, causal=causal))
        dropout = self.dropout if self.training else 0.0
        return dispatch.scaled_dot_product_attention(query, key, value, mask, dropout=dropout, causal=causal)

    def join(self, mixed: Tensor) -> Tensor:
        """The heads side by side, projected: (B, H, T, K) -> (B, T, D)."""
        return self.project_out(mixed.transpose(1, 2).flatten(2))

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        """The n parts of width D along the last dimension, heads in front: (B, T, nD) -> n of (B, H, T, K)."""
        parts = x.view(*x.shape[:2], -1, self.heads, self.width // self.heads)  # (B, T, n, H, K)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """softmax(Q K^T / sqrt(K)), which fused kernels do not return: (B, H, T, K), (B, H, S, K) -> (B, H, T, S)."""
    scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
    if causal:
        mask = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).tril()
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=3)
