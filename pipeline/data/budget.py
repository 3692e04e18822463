"""Section `corpora.<corpus>.training`: how long to train on a corpus, and in which portions."""

from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from pipeline.params import Section


class Training(Section):
    """Tokens are target tokens, end of sentence included; intervals are in updates, `patience` in validations.

    `tokens_per_batch` bounds a micro-batch's padded positions on its longer side, and so the memory. `patience` 0
    never stops early.
    """

    updates: PositiveInt
    tokens_per_update: PositiveInt
    tokens_per_batch: PositiveInt
    pool_pairs: PositiveInt
    max_length: Annotated[int, Field(ge=2)]
    validation_interval: PositiveInt
    validation_sentences: NonNegativeInt
    patience: NonNegativeInt
    checkpoint_interval: PositiveInt
    last_checkpoints: PositiveInt
    best_checkpoints: NonNegativeInt
    seed: int

    @model_validator(mode="after")
    def validate_at_checkpoints(self) -> Self:
        """The best updates can be kept only where there is a checkpoint of them."""
        if self.validation_interval % self.checkpoint_interval:
            raise ValueError(
                f"validation_interval must be a multiple of checkpoint_interval {self.checkpoint_interval}, "
                f"got {self.validation_interval}"
            )
        return self
