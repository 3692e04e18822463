"""How a model learns: batches, optimizer, schedule, loss and precision, keys of `models.<model>.<size>`."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from pipeline.encoding.budget import Batches
from pipeline.params import Section
from pipeline.training.loss import Spread
from pipeline.training.optimizers import Optimizer
from pipeline.training.schedules import Schedule


class Learning(Section):
    """How a model learns.

    `clip` is the maximum norm of the gradient of the mean loss per token; null turns clipping off.

    `precision` is that of matrix products; `auto` is bf16 if the machine has instructions for it, else fp32.
    """

    batches: Batches
    optimizer: Optimizer
    schedule: Schedule
    label_smoothing: Annotated[float, Field(ge=0, lt=1)]
    smoothing_spread: Spread
    clip: PositiveFloat | None
    precision: Literal["auto", "fp32", "bf16"]
