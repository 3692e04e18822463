"""How far a training is, and what was found on its way: all of it that is not weights."""

from typing import Any, NamedTuple

from pipeline.encoding.batching import Position
from pipeline.training.loop import Step

START = Position(update=1, epoch=0, offset=0)


class Record(NamedTuple):
    """All of a training that is not weights."""

    next: Position = START  # what the next update is
    real: int = 0  # positions computed so far that held a piece
    computed: int = 0  # positions computed so far
    history: tuple[dict[str, float], ...] = ()  # a row a validation, in order
    saved: tuple[int, ...] = ()  # updates whose weights are kept, in order

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Record":
        """The record whose `_asdict` went through JSON."""
        lists = {key: tuple(values[key]) for key in ("history", "saved")}
        return cls(**values | lists | {"next": Position(*values["next"])})

    def after(self, step: Step) -> "Record":
        """The record once `step` is done."""
        update, epoch, offset = step.position
        after = Position(update + 1, epoch, offset + 1)
        return self._replace(next=after, real=self.real + step.real, computed=self.computed + step.computed)

    def judged(self, step: Step, scores: dict[str, float]) -> "Record":
        """The record with one validation more."""
        measures = step.measures()
        row = {"update": step.update, **{key: measures[key] for key in ("train_loss", "learning_rate", "grad_norm")}}
        return self._replace(history=(*self.history, row | scores))

    def best(self, count: int) -> list[int]:
        """The updates of the `count` lowest validation losses, the best first; the earlier of two equal."""
        ranked = sorted(self.history, key=lambda row: (row["validation_loss"], row["update"]))
        return [int(row["update"]) for row in ranked[:count]]

    def exhausted(self, patience: int) -> bool:
        """Whether the last `patience` validations brought no new best; never where `patience` is 0."""
        if not patience or not self.history:
            return False
        best = [row["update"] for row in self.history].index(self.best(1)[0])
        return len(self.history) - 1 - best >= patience

    def padding_share(self) -> float:
        """Share of the positions computed that held padding."""
        return 1 - self.real / self.computed
