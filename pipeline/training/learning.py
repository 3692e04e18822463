"""How a model learns: batches, optimizer, schedule, loss and precision, keys of configs/<model>.yaml."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt

from ..common.params import Section
from .budget import Batches
from .loss import Spread
from .optimizers import Optimizer
from .schedules import Schedule


class Learning(Section):
    """How a model learns.

    `clip` is the maximum norm of the gradient of the mean loss per token; 0 turns clipping off.

    `r_drop` is the weight of the divergence between two passes of each sentence, which differ in dropout (R-Drop, see
    `r_drop_loss`). With 0 there is one pass; two take about twice the time and memory.

    `lsi_pairs`: how many pairs, at most, say which pieces' embeddings start close together (cross-language LSI, see
    `lsi.start`). With 0 all of them start at random.

    `precision` is that of matrix products; `auto` is bf16 if the machine has instructions for it, else fp32.
    """

    batches: Batches
    optimizer: Optimizer
    schedule: Schedule
    label_smoothing: Annotated[float, Field(ge=0, lt=1)]
    smoothing_spread: Spread
    r_drop: NonNegativeFloat
    lsi_pairs: NonNegativeInt
    clip: NonNegativeFloat
    precision: Literal["auto", "fp32", "bf16"]
