"""The progress of a training and its measurements: all that a resumed training needs besides the tensors."""

from typing import Any, NamedTuple

from .batching import START, Position
from .budget import Training
from .loop import Step

LAST = ("train_loss", "learning_rate", "grad_norm")
CURVE_POINTS = 60  # of the training loss, or up to twice as many: a chart shows no more


class TrainState(NamedTuple):
    """The progress of a training; each checkpoint holds it as JSON, beside the weights and the optimizer's tensors."""

    next: Position = START  # of the next update
    num_real_positions: int = 0  # source and target positions computed so far that hold a piece
    num_positions: int = 0  # all positions computed so far, padding included
    history: tuple[dict[str, float], ...] = ()  # one row per validation, in order
    saved: tuple[int, ...] = ()  # updates whose weights are kept, in order
    curve: tuple[dict[str, float], ...] = ()  # rows of the training loss, each the mean since the row before
    loss_sum: float = 0.0  # training losses of the updates since the last of these rows
    last: tuple[float, ...] = ()  # `LAST` of the last update

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "TrainState":
        """The state whose `_asdict` went through JSON."""
        lists = {key: tuple(values[key]) for key in ("history", "saved", "curve", "last")}
        return cls(**values | lists | {"next": Position(*values["next"])})

    @property
    def update(self) -> int:
        """Number of the last finished update, 0 before the first."""
        return self.next.update - 1

    def after(self, step: Step) -> "TrainState":
        """The state once `step` is done."""
        position = step.position
        update = position.update
        state = self._replace(
            next=position._replace(update=update + 1, offset=position.offset + 1),
            num_real_positions=self.num_real_positions + step.num_real_positions,
            num_positions=self.num_positions + step.num_positions,
            loss_sum=self.loss_sum + step.loss,
            last=(step.loss, step.learning_rate, step.grad_norm),
        )
        interval = int(self.curve[0]["update"]) if self.curve else 1
        return state._replace(curve=thinned(state.whole_curve()), loss_sum=0.0) if update % interval == 0 else state

    def whole_curve(self) -> tuple[dict[str, float], ...]:
        """The rows of the curve up to the last update, also if that falls between two rows (patience ran out)."""
        begun = self.update - (int(self.curve[-1]["update"]) if self.curve else 0)
        row = {"update": self.update, "train_loss": self.loss_sum / max(1, begun)}
        return (*self.curve, row) if begun else self.curve

    def with_validation(self, scores: dict[str, float]) -> "TrainState":
        """The state with the scores of one more validation, made after the last update, or before the first one."""
        last = dict(zip(LAST, self.last, strict=True)) if self.last else {}
        return self._replace(history=(*self.history, {"update": self.update, **last, **scores}))

    @property
    def is_validated(self) -> bool:
        """Whether there was a validation after the last update."""
        return bool(self.history) and self.history[-1]["update"] == self.update

    def is_finished(self, training: Training) -> bool:
        """Whether no update is to come."""
        return self.update == training.updates or self.is_out_of_patience(training.patience)

    def best(self, count: int) -> list[int]:
        """The updates of the `count` lowest validation losses, best first; of equal losses the earlier update."""
        ranked = sorted(self.history, key=lambda row: (row["validation_loss"], row["update"]))
        return [int(row["update"]) for row in ranked[:count]]

    def is_out_of_patience(self, patience: int) -> bool:
        """Whether the last `patience` validations brought no new best; never if `patience` is 0."""
        if not patience or not self.history:
            return False
        best = [row["update"] for row in self.history].index(self.best(1)[0])
        return len(self.history) - 1 - best >= patience

    def is_on_the_way(self, training: Training) -> bool:
        """Whether a training of this length and patience, with the same learning rates, comes through this state."""
        end = training.updates
        before = (self._replace(history=self.history[:number]) for number in range(len(self.history)))
        return (
            self.update <= end
            and all(row["update"] % training.validation_interval == 0 for row in self.history if row["update"] < end)
            and not any(state.is_out_of_patience(training.patience) for state in before)
        )


def thinned(curve: tuple[dict[str, float], ...]) -> tuple[dict[str, float], ...]:
    """The curve, in half as many rows once it has twice the `CURVE_POINTS`: its updates alone say how many it has."""
    if len(curve) < 2 * CURVE_POINTS:
        return curve
    pairs = zip(curve[::2], curve[1::2], strict=True)
    return tuple(late | {"train_loss": (early["train_loss"] + late["train_loss"]) / 2} for early, late in pairs)
