"""Attention Is All You Need as published: LayerNorm(x + Dropout(SubLayer(x))), no norm after the stacks."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, ValidationInfo, field_validator

from pipeline.layers.residual import PostNorm
from pipeline.layers.transformer import Transformer
from pipeline.params import Section


class Arch(Section):
    encoder_layers: PositiveInt
    decoder_layers: PositiveInt
    width: PositiveInt
    heads: PositiveInt
    feed_forward: PositiveInt
    dropout: Annotated[float, Field(ge=0, le=0.99)]
    tied_embeddings: Literal["none", "output", "all"]

    @field_validator("heads")
    @classmethod
    def divide_width(cls, heads: int, info: ValidationInfo) -> int:
        """The heads share the width equally."""
        width = info.data.get("width", heads)
        if width % heads:
            raise ValueError(f"must divide width {width}, got {heads}")
        return heads


class Model(Transformer):
    """Source: see the first line of this file; sizes are those of `Arch`."""

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        super().__init__(
            PostNorm,
            source_size=source_size,
            target_size=target_size,
            encoder_layers=arch.encoder_layers,
            decoder_layers=arch.decoder_layers,
            width=arch.width,
            heads=arch.heads,
            feed_forward=arch.feed_forward,
            dropout=arch.dropout,
            tied=arch.tied_embeddings,
        )
