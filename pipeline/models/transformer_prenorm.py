"""The Annotated Transformer: x + Dropout(SubLayer(LayerNorm(x))), and a norm after each stack."""

from ..layers.residual import PreNorm
from ..layers.transformer import Design, Transformer, TransformerArch

Arch = TransformerArch


class Model(Transformer):
    """Source: see the first line of this file; sizes are those of `Arch`."""

    design = Design(PreNorm)
