"""Initial weights of a Transformer; biases always start at 0 and norms at 1."""

from abc import abstractmethod
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from ..common.params import Section

STACKED = {"project_in": ("query", "key", "value"), "gate_and_widen": ("gate", "widen")}  # by the layer's name


def separate(name: str, matrix: Tensor) -> dict[str, Tensor]:
    """The matrices that the parameter called `name` holds one above the other, by what each of them does."""
    layer = name.removesuffix(".weight").rpartition(".")[2]
    parts = STACKED.get(layer, (layer,))
    return dict(zip(parts, matrix.data.chunk(len(parts)), strict=True))


class Scheme(Section):
    """Base of all schemes, each of which says how it draws a matrix."""

    def initialise(self, network: nn.Module) -> None:
        """Draw the matrices of a Transformer, and set its biases to 0."""
        for name, parameter in network.named_parameters():
            if parameter.dim() > 1:
                self.draw(name, parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    @abstractmethod
    def draw(self, name: str, matrix: nn.Parameter) -> None:
        """Draw the matrix called `name`, in place."""


class Xavier(Scheme):
    """Embeddings and output projection from N(0, 1 / D), all other matrices Xavier-uniform.

    Matrices that share a parameter are drawn each by itself.

    `sublayer_gain`: the gain of the matrices inside a sub-layer's residual branch (values, attention's output,
    feed-forward), 1 as published. With less a post-norm stack learns sooner: it is one number for DeepNet's two betas
    (Wang et al. 2022), without its alpha.

    Source: tensor2tensor for the embeddings. The Annotated Transformer draws them Xavier-uniform as well
        (`XavierEverywhere`), which makes them smaller than the positions: at update 200 of Multi30k the validation
        loss was 4.64 instead of 4.01.
    """

    kind: Literal["xavier"]
    sublayer_gain: PositiveFloat

    def draw(self, name: str, matrix: nn.Parameter) -> None:
        if name.startswith("embeddings."):
            nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)
            return
        for part, weights in separate(name, matrix).items():
            nn.init.xavier_uniform_(weights, 1.0 if part in ("query", "key") else self.sublayer_gain)


class XavierEverywhere(Scheme):
    """Every matrix Xavier-uniform, embeddings too, those that share a parameter each by itself.

    Source: the Annotated Transformer.
    """

    kind: Literal["xavier_everywhere"]

    def draw(self, name: str, matrix: nn.Parameter) -> None:
        for weights in separate(name, matrix).values():
            nn.init.xavier_uniform_(weights)


class Normal(Scheme):
    """Every matrix, embeddings too, from N(0, std^2).

    Source: Radford et al. 2019, with a `std` of 0.02; the code of Devlin et al. 2019 also cuts it at two deviations.
    """

    kind: Literal["normal"]
    std: PositiveFloat

    def draw(self, name: str, matrix: nn.Parameter) -> None:
        nn.init.normal_(matrix, std=self.std)


Initialisation: TypeAlias = Annotated[Xavier | XavierEverywhere | Normal, Field(discriminator="kind")]
