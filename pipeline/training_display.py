"""What a training shows: how far it is, its loss, BLEU so far and speed; a line for each validation."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from pipeline import progress
from pipeline.system import System

RECENT = 20  # updates of which the loss and the speed that are shown are means


class Update(Protocol):
    """What the display reads of an update."""

    @property
    def loss(self) -> float:
        """The training loss."""

    @property
    def tokens(self) -> int:
        """Target tokens."""


U = TypeVar("U", bound=Update)


class TrainingDisplay:
    """The progress of one training of `updates` updates."""

    def __init__(self, system: System, updates: int, history: Iterable[Mapping[str, float]]) -> None:
        self.name, self.updates = f"{system.model}-{system.size}-{system.seed}", updates
        self.recent: deque[tuple[float, int, float]] = deque(maxlen=RECENT)  # loss, tokens, seconds
        self.bleu: float | None = None
        for row in history:
            self.bleu = row.get("validation_bleu")

    def track(self, steps: Iterable[U], *, start: int) -> Iterator[U]:
        """Pass the updates after number `start` on and show how far they are."""
        return progress.track(
            self.watched(steps), self.name, total=self.updates, unit="", start=start, about=self.about
        )

    def watched(self, steps: Iterable[U]) -> Iterator[U]:
        """The updates, of which the last ones are kept in mind; validations between them do not count as their time."""
        began = time.perf_counter()
        for step in steps:
            self.recent.append((step.loss, step.tokens, time.perf_counter() - began))
            yield step
            began = time.perf_counter()

    def about(self) -> str:
        """Training loss and speed of the last updates, and BLEU of the last validation."""
        if not self.recent:
            return ""
        losses, tokens, seconds = (sum(values) for values in zip(*self.recent, strict=True))
        bleu = [] if self.bleu is None else [f"BLEU {self.bleu:.1f}"]
        speed = [f"{tokens / seconds:,.0f} tokens/s"] if seconds else []
        return "  ".join([f"train {losses / len(self.recent):.2f}", *bleu, *speed])

    def validated(self, row: Mapping[str, float]) -> None:
        """Show the scores of a validation."""
        self.bleu = row.get("validation_bleu")
        numbers = [
            f"update {row['update']:,}/{self.updates:,}",
            f"train {row['train_loss']:.2f}",
            f"valid {row['validation_loss']:.2f}",
            f"ppl {row['validation_perplexity']:,.1f}",
            *([] if self.bleu is None else [f"BLEU {self.bleu:.1f}"]),
        ]
        progress.say(self.name, "  ".join(numbers))
