"""Keys of `models.<model>.<size>` that say how a model learns, besides data and time."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from pipeline.encoding.budget import Batches
from pipeline.params import Section
from pipeline.training.loss import Spread
from pipeline.training.optimizers import Optimizer
from pipeline.training.schedules import Schedule


class Learning(Section):
    """`clip` is the largest norm of the gradient of the mean loss per token; null clips nothing.

    `precision` is that of matrix products; `auto` is bf16 where the machine has instructions for it, else fp32.
    """

    batches: Batches
    optimizer: Optimizer
    schedule: Schedule
    label_smoothing: Annotated[float, Field(ge=0, lt=1)]
    smoothing_spread: Spread
    clip: PositiveFloat | None
    precision: Literal["auto", "fp32", "bf16"]
