"""Attention Is All You Need as published: LayerNorm(x + Dropout(SubLayer(x))), no norm after the stacks."""

from functools import partial

from pydantic import PositiveFloat

from ..layers.feed_forward import Activation, FeedForward
from ..layers.residual import EPSILON, PostNorm
from ..layers.transformer import Design, Transformer, TransformerArch


class Arch(TransformerArch):
    """Keys of the other Transformers, and two that `nmt import` writes; without them it is as published."""

    activation: Activation = "relu"
    norm_epsilon: PositiveFloat = EPSILON


class Model(Transformer):
    """Source: see the first line of this file; sizes are those of `Arch`."""

    def __init__(self, arch: Arch, *, source_size: int, target_size: int) -> None:
        residual = partial(PostNorm, epsilon=arch.norm_epsilon)
        self.design = Design(residual, feed_forward=partial(FeedForward, activation=arch.activation))
        super().__init__(arch, source_size=source_size, target_size=target_size)
