"""Sections of configs/<model>.yaml that build torch's optimizers."""

from typing import Annotated, Literal

import torch
from pydantic import Field, NonNegativeFloat, PositiveFloat
from torch import nn

from ..common.params import Section

Beta = Annotated[float, Field(ge=0, lt=1)]


class Adam(Section):
    """Adam with L2 regularisation (Kingma and Ba 2015), or AdamW with decoupled decay (Loshchilov and Hutter 2019)."""

    kind: Literal["adam", "adamw"]
    beta1: Beta
    beta2: Beta
    epsilon: PositiveFloat
    weight_decay: NonNegativeFloat

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer of all weights; the training loop sets its learning rate before each update."""
        kind = torch.optim.Adam if self.kind == "adam" else torch.optim.AdamW
        return kind(
            model.parameters(),
            lr=0.0,
            betas=(self.beta1, self.beta2),
            eps=self.epsilon,
            weight_decay=self.weight_decay,
            fused=True,
        )


class Adadelta(Section):
    """Adadelta (Zeiler 2012); it scales its own steps, so the paper's learning rate is 1."""

    kind: Literal["adadelta"]
    rho: Annotated[float, Field(ge=0, lt=1)]
    epsilon: PositiveFloat

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer of all weights; the training loop sets its learning rate before each update."""
        return torch.optim.Adadelta(model.parameters(), lr=0.0, rho=self.rho, eps=self.epsilon, weight_decay=0.0)


Optimizer = Annotated[Adam | Adadelta, Field(discriminator="kind")]
