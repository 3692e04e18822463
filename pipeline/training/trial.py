"""One training: what it is made of, and what there is to say of it in the end."""

from pathlib import Path
from typing import Any, NamedTuple

import torch

from pipeline.encoding.batching import Plan
from pipeline.encoding.budget import TokenBatches, Training
from pipeline.encoding.shards import Encoded
from pipeline.training.checkpoints import Checkpoints
from pipeline.training.learning import Learning
from pipeline.training.ranks import Ranks
from pipeline.training.record import Record
from pipeline.training.validation import Judge
from pipeline.vocabularies.vocabulary import digest


class Trial(NamedTuple):
    """One training and what it needs."""

    system: str
    fingerprint: str
    params: dict[str, Any]  # every value of the sections, by its dotted name
    training: Training
    learning: Learning
    precision: str  # fp32 or bf16
    device: torch.device
    width: int
    net: Any  # a torch module that answers models.interface.Model
    optimizer: torch.optim.Optimizer
    data: Path
    pieces: Path
    encoded: Encoded
    plan: Plan
    judge: Judge
    checkpoints: Checkpoints
    ranks: Ranks

    @property
    def pairs(self) -> dict[str, int]:
        """How many pairs there are to train on, and how many of them are not too long."""
        return {"pairs": len(self.encoded.source), "pairs_used": len(self.plan.usable)}

    @property
    def idle_ranks(self) -> int:
        """How many processes an update of tokens has no micro-batch for, about."""
        if not isinstance(self.learning.batches, TokenBatches):
            return 0
        return max(0, self.ranks.size - self.training.batches_per_update)

    def summary(self, record: Record) -> dict[str, Any]:
        """What there is to say of the finished training, without times."""
        best = record.best(1)[0]
        return {
            "fingerprint": self.fingerprint,
            "vocabulary": digest(self.pieces),
            "updates": record.next.update - 1,
            "stopped": "patience" if record.exhausted(self.training.patience) else "updates",
            "best": next(row for row in record.history if row["update"] == best),
            "precision": self.precision,
            "padding_share": record.padding_share(),
            "num_parameters": sum(weight.numel() for weight in self.net.parameters()),
            **self.pairs,
            "params": self.params,
        }
