"""torch's own Transformer with the weights of one of ours."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pipeline.compute import ids
from pipeline.layers.positions import sinusoids

Run = Callable[[Tensor, Tensor], Tensor]


@pytest.fixture
def torchs() -> Callable[..., Run]:
    """Builds a function (source, target_input) -> hidden that computes with torch's encoder and decoder."""

    def build(model, *, norm_first: bool) -> Run:
        first, width = model.encoder[0], model.width
        settings = {
            "d_model": width,
            "nhead": first.self_attention.heads,
            "dim_feedforward": first.feed_forward.widen.out_features,
            "dropout": 0.0,
            "layer_norm_eps": 1e-6,
            "batch_first": True,
            "norm_first": norm_first,
        }
        norms = [nn.LayerNorm(width, eps=1e-6) if norm_first else None for _ in range(2)]
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**settings), len(model.encoder), norms[0], enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**settings), len(model.decoder), norms[1])
        for ours, theirs in zip(model.encoder, encoder.layers, strict=True):
            theirs.load_state_dict(renamed(ours, {"attention_residual": "norm1", "feed_forward_residual": "norm2"}))
        for ours, theirs in zip(model.decoder, decoder.layers, strict=True):
            order = {"self_residual": "norm1", "cross_residual": "norm2", "feed_forward_residual": "norm3"}
            theirs.load_state_dict(renamed(ours, order))
        for ours, theirs in zip((model.encoder_norm, model.decoder_norm), norms, strict=True):
            if theirs is not None:
                theirs.load_state_dict(ours.state_dict())
        return lambda source, target: run(model, encoder, decoder, source, target)

    return build


def run(model, encoder, decoder, source: Tensor, target: Tensor) -> Tensor:
    """Embeddings and positions by their formulas, the rest torch's."""

    def embed(matrix: Tensor, pieces: Tensor) -> Tensor:
        return matrix[pieces] * model.width**0.5 + sinusoids(pieces.shape[1], model.width)

    embeddings = model.embeddings
    hidden = source == ids.PAD
    memory = encoder(
        embed(embeddings.target if embeddings.tied == "all" else embeddings.source, source), src_key_padding_mask=hidden
    )
    future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    return decoder(
        embed(embeddings.target, target),
        memory,
        tgt_mask=future,
        tgt_key_padding_mask=target == ids.PAD,
        memory_key_padding_mask=hidden,
    )


def renamed(layer: nn.Module, norms: dict[str, str]) -> dict[str, Tensor]:
    """A layer's weights by torch's names."""
    names = {
        "self_attention.project_in.": "self_attn.in_proj_",
        "self_attention.project_out.": "self_attn.out_proj.",
        "cross_attention.project_in.": "multihead_attn.in_proj_",
        "cross_attention.project_out.": "multihead_attn.out_proj.",
        "feed_forward.widen.": "linear1.",
        "feed_forward.narrow.": "linear2.",
        **{f"{ours}.norm.": f"{theirs}." for ours, theirs in norms.items()},
    }
    found = {}
    for name, weight in layer.state_dict().items():
        (start,) = (start for start in names if name.startswith(start))
        found[names[start] + name.removeprefix(start)] = weight
    return found
