"""The Transformer's two stacks; a model chooses how sub-layers are wrapped and what tells it of positions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, cast

import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor, nn

from ..common.params import Depth, Section, Width
from ..compute import ids
from .attention import KeysValues, MultiHeadAttention
from .decoder_state import DecoderState, Rows
from .dropout import Dropout
from .embedding import EmbeddingMatrices, Embeddings
from .feed_forward import FeedForward, GatedFeedForward
from .initialisation import Initialisation
from .positions import Positions
from .residual import EPSILON, PostNorm, PreNorm

DropoutRate = Annotated[float, Field(ge=0, le=0.99)]


class Design(NamedTuple):
    """Choices that a model's module makes: how sub-layers are wrapped, and what they are."""

    residual: Callable[[int, float], PostNorm | PreNorm]
    rotary: bool = False  # self-attention rotates by positions; no sinusoids are added to the embeddings
    feed_forward: Callable[[int, int, float], FeedForward | GatedFeedForward] = FeedForward


class TransformerArch(Section):
    """Keys of all Transformers' sections.

    `tied_embeddings`: which uses share a matrix, see `Embeddings`. `dropout` is on the sums of embeddings and positions
    and on what each sub-layer adds, `attention_dropout` on the weights of attention, `feed_forward_dropout` on the
    hidden units of the feed-forward networks.
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
        """The width must split into heads."""
        width = info.data.get("width", heads)
        if width % heads:
            raise ValueError(f"must divide width {width}, got {heads}")
        return heads


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, design: Design, arch: TransformerArch) -> None:
        super().__init__()
        residual, rotary, feed_forward = design
        self.self_attention = MultiHeadAttention(arch.width, arch.heads, arch.attention_dropout, rotary=rotary)
        self.attention_residual = residual(arch.width, arch.dropout)
        self.feed_forward = feed_forward(arch.width, arch.feed_forward, arch.feed_forward_dropout)
        self.feed_forward_residual = residual(arch.width, arch.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Shapes: x (B, S, D), mask (B, 1, 1, S) -> (B, S, D)."""
        x = self.attention_residual(x, lambda y: self.self_attention(y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, then feed-forward."""

    def __init__(self, design: Design, arch: TransformerArch) -> None:
        super().__init__()
        residual, rotary, feed_forward = design
        self.self_attention = MultiHeadAttention(arch.width, arch.heads, arch.attention_dropout, rotary=rotary)
        self.self_residual = residual(arch.width, arch.dropout)
        self.cross_attention = MultiHeadAttention(arch.width, arch.heads, arch.attention_dropout)
        self.cross_residual = residual(arch.width, arch.dropout)
        self.feed_forward = feed_forward(arch.width, arch.feed_forward, arch.feed_forward_dropout)
        self.feed_forward_residual = residual(arch.width, arch.dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Shapes: x (B, T, D), memory (B, S, D), mask (B, 1, 1, S) -> (B, T, D).

        The padding of x needs no mask: it comes last, and no real position attends to what comes after it.
        """
        x = self.self_residual(x, lambda y: self.self_attention(y, None, causal=True))
        return self.read_source(x, self.cross_attention.project_memory(memory), mask)

    def step(self, x: Tensor, past: KeysValues, memory: KeysValues, mask: Tensor) -> tuple[Tensor, KeysValues]:
        """One new position of each hypothesis, and the past of the next one.

        Shapes: x (N, 1, D), past (N, H, T, K), memory (B, H, S, K), mask (B, 1, 1, S) -> (N, 1, D), (N, H, T + 1, K).
        """
        extended = past

        def self_attend(y: Tensor) -> Tensor:
            nonlocal extended
            out, extended = self.self_attention.self_attend_step(y, past)
            return out

        x = self.self_residual(x, self_attend)
        grouped = x.view(len(mask), -1, x.shape[2])  # (B, W, D): a sentence's hypotheses attend to its source at once
        return self.read_source(grouped, memory, mask).view_as(x), extended

    def read_source(self, x: Tensor, memory: KeysValues, mask: Tensor) -> Tensor:
        """The two sub-layers after self-attention: (B, T, D) -> (B, T, D)."""
        x = self.cross_residual(x, lambda y: self.cross_attention.cross_attend(y, memory, mask))
        return self.feed_forward_residual(x, self.feed_forward)


@dataclass(frozen=True)
class EncodedSource(Rows):
    """Keys and values of the sources, which a search computes once."""

    mask: Tensor  # (B, 1, 1, S), True at real positions
    memory: tuple[KeysValues, ...]  # (B, H, S, K) of each decoder layer


@dataclass(frozen=True)
class TransformerState(DecoderState):
    """The keys and values of all positions so far."""

    source: EncodedSource
    past: tuple[KeysValues, ...]  # (N, H, T, K) of each decoder layer


class Transformer(nn.Module):
    """Encoder and decoder over embeddings: everything that `models.interface.Model` asks.

    Shapes: source (B, S) with EOS at each row's end and then padding, target_input (B, T) that begins with BOS.
    """

    is_capturable = True
    design: Design

    def __init__(self, arch: TransformerArch, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.width = width = arch.width
        self.embeddings = Embeddings(source_size, target_size, width, tied=arch.tied_embeddings)
        self.positions = None if self.design.rotary else Positions(width)
        self.dropout = Dropout(arch.dropout)
        encoder = nn.ModuleList(EncoderLayer(self.design, arch) for _ in range(arch.encoder_layers))
        decoder = nn.ModuleList(DecoderLayer(self.design, arch) for _ in range(arch.decoder_layers))
        self.encoder = cast("Sequence[EncoderLayer]", encoder)  # the types that a ModuleList forgets
        self.decoder = cast("Sequence[DecoderLayer]", decoder)
        has_final_norm = self.design.residual is PreNorm  # whose sums have not been normalised yet
        self.encoder_norm = nn.LayerNorm(width, eps=EPSILON) if has_final_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width, eps=EPSILON) if has_final_norm else nn.Identity()
        arch.initialisation.initialise(self)

    @property
    def embedding_matrices(self) -> EmbeddingMatrices:
        """Embeddings of the source and of the target, which may be one."""
        return self.embeddings.matrices

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The encoded source and the mask of its real positions: (B, S, D) and (B, 1, 1, S)."""
        mask = (source != ids.PAD)[:, None, None, :]
        x = self.dropout(self.with_positions(self.embeddings.embed_source(source)))
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def with_positions(self, x: Tensor, start: int = 0) -> Tensor:
        """Embeddings as the first layer reads them, their first position `start`: (B, T, D) -> (B, T, D)."""
        return self.positions(x, start) if self.positions else x

    def hidden(self, source: Tensor, target_input: Tensor) -> Tensor:
        """The inputs of the output projection at every target position: (B, S), (B, T) -> (B, T, D)."""
        memory, mask = self.encode(source)
        x = self.dropout(self.with_positions(self.embeddings.embed_target(target_input)))
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.decoder_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every target piece: (..., D) -> (..., V)."""
        return self.embeddings.logits(hidden)

    def start(self, source: Tensor) -> TransformerState:
        """Encode once: the state before the first decode step, with one hypothesis per sentence."""
        x, mask = self.encode(source)
        memory = tuple(layer.cross_attention.project_memory(x) for layer in self.decoder)
        past = tuple(KeysValues(layer.keys[:, :, :0], layer.values[:, :, :0]) for layer in memory)
        return TransformerState(EncodedSource(mask, memory), past)

    def step(self, state: TransformerState, tokens: Tensor) -> tuple[Tensor, TransformerState]:
        """The input of the output projection for the piece after `tokens`, (N,) -> (N, D), and the next state."""
        source, past = state.source, []
        x = self.with_positions(self.embeddings.embed_target(tokens[:, None]), start=state.past[0].keys.shape[2])
        for layer, before, memory in zip(self.decoder, state.past, source.memory, strict=True):
            x, extended = layer.step(x, before, memory, source.mask)
            past.append(extended)
        return self.decoder_norm(x[:, 0]), TransformerState(source, tuple(past))

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> dict[str, Tensor]:
        """Every matrix of attention weights, by kind and layer: `encoder 1`, `decoder 1`, `cross 1`, `encoder 2` ..."""
        layers = {f"encoder {number}": layer.self_attention for number, layer in enumerate(self.encoder, 1)}
        for number, layer in enumerate(self.decoder, 1):
            layers |= {f"decoder {number}": layer.self_attention, f"cross {number}": layer.cross_attention}
        weights: dict[str, list[Tensor]] = {name: [] for name in layers}
        try:
            for name, attention in layers.items():
                attention.watched = weights[name]
            self.hidden(source, target_input)
        finally:
            for attention in layers.values():
                attention.watched = None
        return {name: matrix for name, (matrix,) in weights.items()}
