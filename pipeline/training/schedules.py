"""Learning-rate schedules: pure functions of the update number, the model's width and the number of updates."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from ..common.params import Section


class Rates(Section):
    """A learning rate for every update."""

    def num_open(self, updates: int) -> int:
        """How many of the first updates have the rates of a longer training, too, which may go on from there."""
        return updates


class Noam(Rates):
    """factor * D^-0.5 * min(u^-0.5, u * warmup^-1.5), for update u counted from 1 (Vaswani et al. 2017, equation 3)."""

    kind: Literal["noam"]
    factor: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """Learning rate of this update, counted from 1; `updates` is not used."""
        return float(self.factor * width**-0.5 * min(update**-0.5, update * self.warmup**-1.5))


class InverseSquareRoot(Rates):
    """Linear warm-up to `peak_rate`, then peak_rate * sqrt(warmup / u): Noam with its peak given directly."""

    kind: Literal["inverse_sqrt"]
    peak_rate: PositiveFloat
    warmup: PositiveInt

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """Learning rate of this update, counted from 1; `width` and `updates` are not used."""
        return float(self.peak_rate * min(update / self.warmup, (self.warmup / update) ** 0.5))


class LinearDecay(Rates):
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

    def num_open(self, updates: int) -> int:
        """None: the last update shapes every rate after warm-up."""
        return 0


class WarmupStableDecay(Rates):
    """Linear warm-up to `peak_rate`, which stays until the last `decay` updates: these fall as those of `linear`.

    A longer training goes on from where the decay begins.
    Source: Hu et al. 2024 (MiniCPM), section 4, whose decay is exponential; linear as in Haegele et al. 2024.
    """

    kind: Literal["wsd"]
    peak_rate: PositiveFloat
    warmup: PositiveInt
    decay: PositiveInt

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """Learning rate of this update, counted from 1; `width` is not used."""
        if update <= self.warmup:
            return float(self.peak_rate * update / self.warmup)
        decay = min(self.decay, updates - self.warmup)
        return float(self.peak_rate * min(1.0, (updates + 1 - update) / (decay + 1)))

    def num_open(self, updates: int) -> int:
        """All before the decay."""
        return max(0, updates - self.decay)


class Constant(Rates):
    """One rate at every update."""

    kind: Literal["constant"]
    warmup: ClassVar[int] = 0
    learning_rate: PositiveFloat

    def rate(self, update: int, *, width: int, updates: int) -> float:
        """`learning_rate`, whatever the update."""
        return self.learning_rate


Schedule = Annotated[Noam | InverseSquareRoot | LinearDecay | WarmupStableDecay | Constant, Field(discriminator="kind")]
