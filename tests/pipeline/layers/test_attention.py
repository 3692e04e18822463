"""The same numbers as torch's own attention."""

import pytest
import torch
from torch import nn

from pipeline.layers.attention import KeysValues, MultiHeadAttention

B, T, S, D, H = 3, 5, 7, 16, 4
CAUSAL = torch.ones(T, T, dtype=torch.bool).tril()
PADDED = torch.arange(S) < torch.tensor([7, 4, 1])[:, None]  # (B, S), True where a piece stands


@pytest.fixture
def ours():
    torch.manual_seed(1)
    attention = MultiHeadAttention(D, H, dropout=0.0)
    nn.init.normal_(attention.project_in.bias)
    nn.init.normal_(attention.project_out.bias)
    return attention


@pytest.fixture
def theirs(ours):
    """torch's module with the same weights."""
    attention = nn.MultiheadAttention(D, H, batch_first=True)
    attention.load_state_dict(
        {
            "in_proj_weight": ours.project_in.weight,
            "in_proj_bias": ours.project_in.bias,
            "out_proj.weight": ours.project_out.weight,
            "out_proj.bias": ours.project_out.bias,
        }
    )
    return attention


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["none", "padding", "causal mask", "is_causal"])
def test_self_attention_is_torchs(ours, theirs, kind):
    x = torch.randn(B, T, D)
    real = PADDED[:, :T]
    if kind == "none":
        got, (expected, _) = ours(x, None), theirs(x, x, x)
    elif kind == "padding":
        got, (expected, _) = ours(x, real[:, None, None, :]), theirs(x, x, x, key_padding_mask=~real)
    else:
        mask, causal = (CAUSAL, False) if kind == "causal mask" else (None, True)
        got, (expected, _) = ours(x, mask, causal=causal), theirs(x, x, x, attn_mask=~CAUSAL)
    close(got, expected)


def test_cross_attention_is_torchs(ours, theirs):
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    expected, _ = theirs(x, memory, memory, key_padding_mask=~PADDED)
    close(ours.cross_attend(x, ours.project_memory(memory), PADDED[:, None, None, :]), expected)


@torch.no_grad()
def test_one_position_at_a_time_is_the_whole(ours):
    x = torch.randn(B, T, D)
    past, steps = KeysValues(torch.empty(B, H, 0, D // H), torch.empty(B, H, 0, D // H)), []
    for position in range(T):
        out, past = ours.self_attend_step(x[:, position : position + 1], past)
        steps.append(out)
    close(torch.cat(steps, dim=1), ours(x, None, causal=True))
    whole = ours.project_memory(x)
    close(past.keys, whole.keys)
    close(past.values, whole.values)


@torch.no_grad()
@pytest.mark.parametrize("mask", ["nothing", "the future", "padding"])
def test_watched_weights_are_torchs(ours, theirs, mask):
    x = torch.randn(B, S, D)
    future = torch.ones(S, S, dtype=torch.bool).triu(1) if mask == "the future" else None
    hidden = ~PADDED if mask == "padding" else None
    _, expected = theirs(x, x, x, key_padding_mask=hidden, attn_mask=future, average_attn_weights=False)
    unwatched = ours(x, PADDED[:, None, None] if mask == "padding" else None, causal=mask == "the future")
    ours.watched = []
    watched = ours(x, PADDED[:, None, None] if mask == "padding" else None, causal=mask == "the future")
    torch.testing.assert_close(ours.watched[0], expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(watched, unwatched)
