"""Attention Is All You Need as published: LayerNorm(x + Dropout(SubLayer(x))), no norm after the stacks."""

from ..layers.residual import PostNorm
from ..layers.transformer import Design, Transformer, TransformerArch

Arch = TransformerArch


class Model(Transformer):
    """Source: see the first line of this file; sizes are those of `Arch`."""

    design = Design(PostNorm)
