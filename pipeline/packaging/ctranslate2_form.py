"""A Transformer as a CTranslate2 model: a folder that `ctranslate2.Translator` reads, in Python or C++."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..common.params import nearest
from ..compute import ids
from ..layers.attention import MultiHeadAttention
from ..layers.feed_forward import FeedForward, GatedFeedForward
from ..layers.positions import sinusoids
from ..layers.residual import PostNorm, PreNorm
from ..layers.transformer import Transformer
from ..vocabularies.vocabulary import Vocabulary
from .sealed import POSITIONS

SPECIAL = {ids.PAD: "<pad>", ids.UNK: "<unk>", ids.BOS: "<s>", ids.EOS: "</s>"}
FILES = {"model.bin", "config.json", *(f"{side}_vocabulary.json" for side in ("shared", "source", "target"))}


class ExportError(ValueError):
    """A model cannot be written for CTranslate2."""


def save(
    model: nn.Module, vocabulary: Vocabulary, folder: Path, *, quantization: str = "float32", positions: int = POSITIONS
) -> None:
    """Write a Transformer and its pieces into `folder`; it reads sources without EOS, which CTranslate2 adds.

    `quantization` is the type of the weights, by CTranslate2's names. Sentences of more than `positions` pieces (EOS
    counted) are refused by CTranslate2, unless the model rotates queries and keys. Its own sinusoids have no such end,
    but all sines stand before all cosines.

    Raises: ExportError if the model is no Transformer (CTranslate2 has no recurrent decoder), or the type is unknown.
    """
    from ctranslate2.specs.model_spec import ACCEPTED_MODEL_TYPES as known  # a second, which only an export takes

    if not isinstance(model, Transformer):
        name = type(model).__module__.rpartition(".")[2]
        raise ExportError(f"ctranslate2: runs Transformers only, got {name}; expected a Transformer")
    if quantization not in known:
        raise ExportError(f"quantization: unknown type, got {quantization!r}{nearest(quantization, known)}")
    spec = specification(model, positions)
    spec.register_source_vocabulary(tokens(vocabulary.source_pieces(range(vocabulary.source_size))))
    spec.register_target_vocabulary(tokens(vocabulary.target_pieces(range(vocabulary.target_size))))
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def tokens(pieces: Sequence[str]) -> list[str]:
    """A token for each id, all different: the piece, or the name that `specification` gives a special one."""
    taken, names = set(SPECIAL.values()), []
    for number, piece in enumerate(pieces):
        token = SPECIAL.get(number, piece)
        while number not in SPECIAL and token in taken:  # a text may hold the very word `</s>`
            token += f"#{number}"
        taken.add(token)
        names.append(token)
    return names


def specification(model: Transformer, positions: int) -> Any:
    """CTranslate2's TransformerSpec with the weights of a model.

    As here, embeddings are scaled by sqrt(D). Equal matrices are stored once.
    """
    from ctranslate2 import specs

    first, known = model.encoder[0], specs.common_spec.Activation
    activations = {"relu": known.RELU, "gelu": known.GELU, "silu": known.SWISH}
    settings = {
        "num_heads": first.self_attention.heads,
        "pre_norm": isinstance(first.attention_residual, PreNorm),
        "rotary_dim": None if model.positions else model.width // first.self_attention.heads,
        "rotary_interleave": False,
        "ffn_glu": isinstance(first.feed_forward, GatedFeedForward),
        "activation": activations[first.feed_forward.activation],
    }
    encoder = specs.transformer_spec.TransformerEncoderSpec(len(model.encoder), **settings)
    decoder = specs.transformer_spec.TransformerDecoderSpec(len(model.decoder), **settings)
    spec = specs.TransformerSpec(encoder, decoder)
    spec.config.layer_norm_epsilon = first.attention_residual.norm.eps
    spec.config.unk_token, spec.config.eos_token = SPECIAL[ids.UNK], SPECIAL[ids.EOS]
    spec.config.bos_token = spec.config.decoder_start_token = SPECIAL[ids.BOS]
    spec.config.add_source_eos = True
    for stack in (encoder, decoder) if model.positions else ():
        fill(stack.position_encodings, encodings=sinusoids(positions, model.width))
    fill_layers(spec.encoder, spec.decoder, model)
    return spec


def fill_layers(encoder: Any, decoder: Any, model: Transformer) -> None:
    """The weights of both stacks, of their embeddings and of the output projection."""
    matrices = model.embeddings
    fill(encoder.embeddings[0], weight=matrices.target if matrices.tied == "all" else matrices.source)
    fill(decoder.embeddings, weight=matrices.target)
    fill(decoder.projection, weight=matrices.projection, bias=matrices.bias)
    for stack, norm in ((encoder, model.encoder_norm), (decoder, model.decoder_norm)):
        if isinstance(norm, nn.LayerNorm):
            fill(stack.layer_norm, gamma=norm.weight, beta=norm.bias)
    for part, layer in zip(encoder.layer, model.encoder, strict=True):
        fill_attention(part.self_attention, layer.self_attention, layer.attention_residual)
        fill_feed_forward(part.ffn, layer.feed_forward, layer.feed_forward_residual)
    for part, block in zip(decoder.layer, model.decoder, strict=True):
        fill_attention(part.self_attention, block.self_attention, block.self_residual)
        fill_attention(part.attention, block.cross_attention, block.cross_residual)
        fill_feed_forward(part.ffn, block.feed_forward, block.feed_forward_residual)


def fill_attention(spec: Any, attention: MultiHeadAttention, residual: PostNorm | PreNorm) -> None:
    """One attention: query, key and value in one matrix, or (to the source) the query's and then the other two's."""
    fill(spec.layer_norm, gamma=residual.norm.weight, beta=residual.norm.bias)
    *inward, outward = spec.linear
    width, project = attention.width, attention.project_in
    bounds = (0, 3 * width) if len(inward) == 1 else (0, width, 3 * width)
    for part, (begin, end) in zip(inward, pairwise(bounds), strict=True):
        fill(part, weight=project.weight[begin:end], bias=project.bias[begin:end])
    fill(outward, weight=attention.project_out.weight, bias=attention.project_out.bias)


def fill_feed_forward(spec: Any, network: FeedForward | GatedFeedForward, residual: PostNorm | PreNorm) -> None:
    """One position-wise network, plain or gated."""
    fill(spec.layer_norm, gamma=residual.norm.weight, beta=residual.norm.bias)
    if isinstance(network, GatedFeedForward):
        weights, biases = network.gate_and_widen.weight.chunk(2), network.gate_and_widen.bias.chunk(2)
        fill(spec.linear_0, weight=weights[0], bias=biases[0])
        fill(spec.linear_0_noact, weight=weights[1], bias=biases[1])
    else:
        fill(spec.linear_0, weight=network.widen.weight, bias=network.widen.bias)
    fill(spec.linear_1, weight=network.narrow.weight, bias=network.narrow.bias)


def fill(spec: Any, **weights: Tensor) -> None:
    """The weights of one layer by CTranslate2's names: numpy's, in fp32, and copies, as it quantizes in place."""
    for name, weight in weights.items():
        setattr(spec, name, weight.detach().to("cpu", torch.float32, copy=True).numpy())
