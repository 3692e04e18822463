"""The progress of a training and its measurements: all that a resumed training needs besides the tensors."""

from typing import Any, NamedTuple

from pipeline.encoding.batching import START, Position
from pipeline.training.loop import Step


class TrainState(NamedTuple):
    """The progress of a training; each checkpoint holds it as JSON, beside the weights and the optimizer's tensors."""

    next: Position = START  # of the next update
    num_real_positions: int = 0  # source and target positions computed so far that hold a piece
    num_positions: int = 0  # all positions computed so far, padding included
    history: tuple[dict[str, float], ...] = ()  # one row per validation, in order
    saved: tuple[int, ...] = ()  # updates whose weights are kept, in order

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "TrainState":
        """The state whose `_asdict` went through JSON."""
        lists = {key: tuple(values[key]) for key in ("history", "saved")}
        return cls(**values | lists | {"next": Position(*values["next"])})

    @property
    def update(self) -> int:
        """Number of the last finished update, 0 before the first."""
        return self.next.update - 1

    def after(self, step: Step) -> "TrainState":
        """The state once `step` is done."""
        update, epoch, offset = step.position
        after = Position(update + 1, epoch, offset + 1)
        return self._replace(
            next=after,
            num_real_positions=self.num_real_positions + step.num_real_positions,
            num_positions=self.num_positions + step.num_positions,
        )

    def with_validation(self, step: Step, scores: dict[str, float]) -> "TrainState":
        """The state with the scores of one more validation, made after `step`."""
        metrics = step.metrics()
        row = {"update": step.update, **{key: metrics[key] for key in ("train_loss", "learning_rate", "grad_norm")}}
        return self._replace(history=(*self.history, row | scores))

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

    def padding_share(self) -> float:
        """Share of the computed positions that held padding."""
        return 1 - self.num_real_positions / self.num_positions
