"""Learning-rate schedules: pure functions of the update's number."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from pipeline.params import Section


class Noam(Section):
    """factor * D^-0.5 * min(u^-0.5, u * warmup^-1.5), for update u counted from 1 (Vaswani et al. 2017, equation 3)."""

    kind: Literal["noam"]
    factor: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, width: int) -> float:
        """Learning rate of this update, counted from 1, for a model of this width."""
        return float(self.factor * width**-0.5 * min(update**-0.5, update * self.warmup**-1.5))


class InverseSquareRoot(Section):
    """Linear warm-up to `peak_rate`, then peak_rate * sqrt(warmup / u): Noam with its height said outright."""

    kind: Literal["inverse_sqrt"]
    peak_rate: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, width: int) -> float:
        """Learning rate of this update, counted from 1; the width plays no part."""
        return float(self.peak_rate * min(update / self.warmup, (self.warmup / update) ** 0.5))


class Constant(Section):
    """The same rate at every update."""

    kind: Literal["constant"]
    learning_rate: PositiveFloat

    def rate(self, update: int, width: int) -> float:
        """`learning_rate`, whatever the update and the width."""
        return self.learning_rate


Schedule = Annotated[Noam | InverseSquareRoot | Constant, Field(discriminator="kind")]
