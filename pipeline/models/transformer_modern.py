"""A Transformer with what has proved its worth since: pre-norm, rotary positions and gated feed-forward networks."""

from pydantic import ValidationInfo, field_validator

from ..layers.feed_forward import GatedFeedForward
from ..layers.residual import PreNorm
from ..layers.transformer import Design, Transformer, TransformerArch


class Arch(TransformerArch):
    """Keys of the other Transformers; heads are of an even width, as their numbers rotate in pairs."""

    @field_validator("heads")
    @classmethod
    def divide_width(cls, heads: int, info: ValidationInfo) -> int:
        """The width must split into heads of an even width."""
        width = info.data.get("width", 2 * heads)
        if width % (2 * heads):
            raise ValueError(f"must divide width {width} into heads of an even width, got {heads}")
        return heads


class Model(Transformer):
    """Source: Xiong et al. 2020 for pre-norm, Su et al. 2021 for the rotations, Shazeer 2020 for the gates."""

    design = Design(PreNorm, rotary=True, feed_forward=GatedFeedForward)
