"""Learning-rate schedules: pure functions of the update number, the model's width and the number of updates."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from ..common.params import Section


class Noam(Section):
    """factor * D^-0.5 * min(u^-0.5, u * warmup^-1.5), for update u counted from 1 (Vaswani et al. 2017, equation 3)."""

    kind: Literal["noam"]
    factor: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """Learning rate of this update, counted from 1; `updates` is not used."""
        return float(self.factor * width**-0.5 * min(update**-0.5, update * self.warmup**-1.5))


class InverseSquareRoot(Section):
    """Linear warm-up to `peak_rate`, then peak_rate * sqrt(warmup / u): Noam with its peak given directly."""

    kind: Literal["inverse_sqrt"]
    peak_rate: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """Learning rate of this update, counted from 1; `width` and `updates` are not used."""
        return float(self.peak_rate * min(update / self.warmup, (self.warmup / update) ** 0.5))


class Linear(Section):
    """Linear warm-up to `peak_rate`, then linear decay that would reach 0 one update after the last.

    If training is no longer than the warm-up, the rate only rises.
    Source: Devlin et al. 2019, appendix A.2.
    """

    kind: Literal["linear"]
    peak_rate: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """Learning rate of this update, counted from 1; `width` is not used."""
        if update <= self.warmup:
            return float(self.peak_rate * update / self.warmup)
        return float(self.peak_rate * (updates + 1 - update) / (updates + 1 - self.warmup))


class Constant(Section):
    """One rate at every update."""

    kind: Literal["constant"]
    warmup: ClassVar[int] = 0
    learning_rate: PositiveFloat

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """`learning_rate`, whatever the update."""
        return self.learning_rate


Schedule = Annotated[Noam | InverseSquareRoot | Linear | Constant, Field(discriminator="kind")]
