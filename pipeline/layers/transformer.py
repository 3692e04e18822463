"""The Transformer's two stacks; how a sub-layer is wrapped (`PostNorm` or `PreNorm`) is the model's choice."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor, nn

from pipeline import ids
from pipeline.kernels.dispatch import LinearMap
from pipeline.layers import cache
from pipeline.layers.attention import MultiHeadAttention
from pipeline.layers.dropout import Dropout
from pipeline.layers.embedding import Embeddings
from pipeline.layers.feed_forward import FeedForward
from pipeline.layers.initialisation import Initialisation
from pipeline.layers.linear import prepacking
from pipeline.layers.positions import Positions
from pipeline.layers.residual import EPSILON, PostNorm, PreNorm
from pipeline.params import Depth, Section, Width

Residual = type[PostNorm] | type[PreNorm]
DropoutRate = Annotated[float, Field(ge=0, le=0.99)]


class TransformerArch(Section):
    """`tied_embeddings`: which matrices are one, `output` the target's and the projection's, `all` the source's too.

    `dropout` is on the sums of embeddings and positions and on what each sub-layer adds, `attention_dropout` on the
    weights of attention, `feed_forward_dropout` on the hidden units of the feed-forward networks.
    """

    encoder_layers: Depth
    decoder_layers: Depth
    width: Width
    heads: Width
    feed_forward: Width
    dropout: DropoutRate
    attention_dropout: DropoutRate
    feed_forward_dropout: DropoutRate
    tied_embeddings: Literal["none", "output", "all"]
    initialisation: Initialisation

    @field_validator("heads")
    @classmethod
    def divide_width(cls, heads: int, info: ValidationInfo) -> int:
        """The heads share the width equally."""
        width = info.data.get("width", heads)
        if width % heads:
            raise ValueError(f"must divide width {width}, got {heads}")
        return heads


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, residual: Residual, arch: TransformerArch) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(arch.width, arch.heads, arch.attention_dropout)
        self.attention_residual = residual(arch.width, arch.dropout)
        self.feed_forward = FeedForward(arch.width, arch.feed_forward, arch.feed_forward_dropout)
        self.feed_forward_residual = residual(arch.width, arch.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Shapes: x (B, S, D), mask (B, 1, 1, S) -> (B, S, D)."""
        x = self.attention_residual(x, lambda y: self.self_attention(y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the past, attention to the source, then feed-forward."""

    def __init__(self, residual: Residual, arch: TransformerArch) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(arch.width, arch.heads, arch.attention_dropout)
        self.self_residual = residual(arch.width, arch.dropout)
        self.cross_attention = MultiHeadAttention(arch.width, arch.heads, arch.attention_dropout)
        self.cross_residual = residual(arch.width, arch.dropout)
        self.feed_forward = FeedForward(arch.width, arch.feed_forward, arch.feed_forward_dropout)
        self.feed_forward_residual = residual(arch.width, arch.dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Shapes: x (B, T, D), memory (B, S, D), mask (B, 1, 1, S) -> (B, T, D).

        The padding of x needs no mask: it stands at the end, where no real position looks.
        """
        x = self.self_residual(x, lambda y: self.self_attention(y, None, causal=True))
        return self.finish(x, *self.cross_attention.remember(memory), mask)

    def step(self, x: Tensor, state: dict[str, Tensor], name: str, turn: cache.Turn) -> Tensor:
        """One new position of W rows a sentence, which this layer, called `name`, also writes into the state's buffers.

        Shapes: x (B * W, 1, D) -> (B * W, 1, D).
        """
        past = state[f"past.{name}.keys"], state[f"past.{name}.values"]
        x = self.self_residual(x, lambda y: self.self_attention.extend(y, *past, turn))
        keys, values = state[f"source.{name}.keys"], state[f"source.{name}.values"]
        together = x.view(len(keys), -1, x.shape[2])  # (B, W, D): the rows of a sentence look at one source
        return self.finish(together, keys, values, state["source.mask"]).view_as(x)

    def finish(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """The two sub-layers after self-attention."""
        x = self.cross_residual(x, lambda y: self.cross_attention.look(y, keys, values, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Transformer(nn.Module):
    """Encoder and decoder over embeddings; answers everything that `models.interface.Model` asks.

    Shapes: source (B, S) with EOS at each row's end and then padding, target_input (B, T) that begins with BOS.
    """

    def __init__(self, residual: Residual, arch: TransformerArch, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.width = width = arch.width
        self.embeddings = Embeddings(source_size, target_size, width, tied=arch.tied_embeddings)
        self.positions = Positions(width)
        self.dropout = Dropout(arch.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(residual, arch) for _ in range(arch.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(residual, arch) for _ in range(arch.decoder_layers))
        ends = residual is PreNorm  # a pre-norm stack's sum has not been normalised yet
        self.encoder_norm = nn.LayerNorm(width, eps=EPSILON) if ends else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width, eps=EPSILON) if ends else nn.Identity()
        arch.initialisation.start(self)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The encoded source and the mask of its real positions: (B, S, D) and (B, 1, 1, S)."""
        mask = (source != ids.PAD)[:, None, None, :]
        x = self.dropout(self.positions(self.embeddings.embed_source(source)))
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """What the output projection reads, at every target position at once: (B, T, D)."""
        memory, mask = self.encode(source)
        x = self.dropout(self.positions(self.embeddings.embed_target(target_input)))
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.decoder_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece: (..., D) -> (..., V)."""
        return self.embeddings.logits(hidden)

    @contextmanager
    def searching(self) -> Iterator[LinearMap]:
        """Gives `logits`; while open every product is by a matrix that was arranged once."""
        with prepacking(self):
            yield self.logits

    def start(self, source: Tensor) -> dict[str, Tensor]:
        """Encode once: the state before the first decode step, a row a sentence."""
        memory, mask = self.encode(source)
        state = {"source.mask": mask} | cache.begun(len(source), source.device)
        for index, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            keys, values = layer.cross_attention.remember(memory)
            state |= {f"source.{index}.keys": keys, f"source.{index}.values": values}
            state |= {f"past.{index}.keys": keys[:, :, :0], f"past.{index}.values": values[:, :, :0]}
        return state

    def step(self, state: dict[str, Tensor], tokens: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """What the output projection reads for the piece after `tokens`: (N,) -> (N, D), and the state after it."""
        state, turn = cache.extended(state, alone=len(tokens) == len(state["source.mask"]))
        x = self.positions(self.embeddings.embed_target(tokens[:, None]), start=turn.position)
        for index, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            x = layer.step(x, state, str(index), turn)
        return self.decoder_norm(x[:, 0]), state

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """Every matrix of attention weights, by kind and layer: `encoder 1`, `decoder 1`, `cross 1`, `encoder 2` ..."""
        watched: dict[str, MultiHeadAttention] = {}
        for index, layer in enumerate(self.encoder, 1):
            assert isinstance(layer, EncoderLayer)
            watched[f"encoder {index}"] = layer.self_attention
        for index, layer in enumerate(self.decoder, 1):
            assert isinstance(layer, DecoderLayer)
            watched |= {f"decoder {index}": layer.self_attention, f"cross {index}": layer.cross_attention}
        seen: dict[str, list[Tensor]] = {name: [] for name in watched}
        for name, part in watched.items():
            part.watched = seen[name]
        try:
            self.hidden(source, target_input)
        finally:
            for part in watched.values():
                part.watched = None
        return {name: found for name, (found,) in seen.items()}
