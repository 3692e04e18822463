"""Multi-head attention over a whole sentence, or step by step with the same results."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .decoder_state import Rows
from .kernels import dispatch
from .linear import Linear
from .positions import Rotation


@dataclass(frozen=True)
class KeysValues(Rows):
    """Projected keys and values of some positions, for all heads."""

    keys: Tensor  # (N, H, T, K)
    values: Tensor  # (N, H, T, K)


class MultiHeadAttention(nn.Module):
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(K head width)) V in `heads` subspaces, then one projection.

    Source: Vaswani et al. 2017, section 3.2. One matrix `project_in` holds the query, key and value projections, in
    torch's order, so that self-attention is a single product. With `rotary`, its queries and keys are rotated by their
    positions.
    """

    def __init__(self, width: int, heads: int, dropout: float, *, rotary: bool = False) -> None:
        super().__init__()
        assert width % heads == 0, f"{heads} heads do not divide width {width}"
        self.width, self.heads, self.dropout = width, heads, dropout
        self.watched: list[Tensor] | None = None  # collects the weights of every call unless None
        self.project_in = Linear(width, 3 * width)
        self.project_out = Linear(width, width)
        self.rotation = Rotation(width // heads) if rotary else None

    def forward(self, x: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """Self-attention over a whole sentence.

        Shapes: x (B, T, D), mask (B, 1, 1 or T, T) with True where a position may be seen -> (B, T, D).
        """
        query, key, value = self.project_heads(x, start=0)
        return self.merge_heads(self.attend(query, key, value, mask, causal=causal))

    def self_attend_step(self, x: Tensor, past: KeysValues) -> tuple[Tensor, KeysValues]:
        """Self-attention of one new position to itself and to all before it, whose keys and values are `past`.

        Shapes: x (N, 1, D), past (N, H, T, K) -> (N, 1, D) and the past of the next step (N, H, T + 1, K).
        """
        query, key, value = self.project_heads(x, start=past.keys.shape[2])
        past = KeysValues(torch.cat((past.keys, key), dim=2), torch.cat((past.values, value), dim=2))
        return self.merge_heads(self.attend(query, past.keys, past.values, None)), past

    def project_memory(self, memory: Tensor) -> KeysValues:
        """Keys and values of an encoded source, computed once per sentence.

        Shapes: memory (B, S, D) -> (B, H, S, K).
        """
        return KeysValues(*self.split_heads(self.project_in(memory, self.width)))

    def cross_attend(self, x: Tensor, memory: KeysValues, mask: Tensor | None) -> Tensor:
        """Attention to a source that `project_memory` has projected.

        Shapes: x (B, T, D), memory (B, H, S, K), mask (B, 1, 1, S) -> (B, T, D).
        """
        (query,) = self.split_heads(self.project_in(x, 0, self.width))
        return self.merge_heads(self.attend(query, memory.keys, memory.values, mask))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """softmax(Q K^T / sqrt(K)) V: (B, H, T, K), (B, H, S, K) twice -> (B, H, T, K)."""
        if self.watched is not None:
            self.watched.append(attention_weights(query, key, mask, causal=causal))
        dropout = self.dropout if self.training else 0.0
        return dispatch.scaled_dot_product_attention(query, key, value, mask, dropout=dropout, causal=causal)

    def project_heads(self, x: Tensor, *, start: int) -> tuple[Tensor, ...]:
        """Query, key and value of self-attention, whose first position is `start`: (B, T, D) -> (B, H, T, K) each."""
        query, key, value = self.split_heads(self.project_in(x))
        if self.rotation:
            query, key = self.rotation(query, start), self.rotation(key, start)
        return query, key, value

    def merge_heads(self, x: Tensor) -> Tensor:
        """The heads side by side, projected: (B, H, T, K) -> (B, T, D)."""
        return self.project_out(x.transpose(1, 2).flatten(2))

    def split_heads(self, x: Tensor) -> tuple[Tensor, ...]:
        """n projections side by side, apart and by heads: (B, T, nD) -> n of (B, H, T, K)."""
        parts = x.view(*x.shape[:2], -1, self.heads, self.width // self.heads)  # (B, T, n, H, K)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """softmax(Q K^T / sqrt(K)), which fused kernels do not return: (B, H, T, K), (B, H, S, K) -> (B, H, T, S)."""
    scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
    if causal:
        mask = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).tril()
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=3)
