"""How long to train and in which portions: `training.<corpus>` and `models.<model>.<size>.batches`."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from pipeline.params import Section


class Training(Section):
    """Tokens are target tokens, end of sentence included; intervals are in updates, `patience` in validations.

    `tokens_per_batch` bounds a micro-batch's padded positions on its longer side, and so the memory. `patience` 0
    never stops early. `threads` are those of a process on a CPU, 0 as many as it has cores: another number rounds
    differently.
    """

    updates: PositiveInt
    tokens_per_update: PositiveInt
    tokens_per_batch: PositiveInt
    pool_pairs: PositiveInt
    max_length: Annotated[int, Field(ge=2, le=100_000)]
    validation_interval: PositiveInt
    validation_sentences: NonNegativeInt
    patience: NonNegativeInt
    checkpoint_interval: PositiveInt
    last_checkpoints: PositiveInt
    best_checkpoints: NonNegativeInt
    threads: Annotated[int, Field(ge=0, le=1024)]
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

    @property
    def batches_per_update(self) -> int:
        """About how many micro-batches an update of `tokens_per_update` has."""
        return math.ceil(self.tokens_per_update / self.tokens_per_batch)


class TokenBatches(Section):
    """Updates of about `tokens_per_update` tokens out of pools of `pool_pairs`, as the corpus's `training` says."""

    kind: Literal["tokens"]


class SentenceBatches(Section):
    """Updates of `sentences_per_update` pairs out of pools of `pool_pairs`, whatever the corpus's `training` says.

    Its `tokens_per_batch` bounds the micro-batches all the same.
    Source: Bahdanau et al. 2015, appendix B.2: 1,600 pairs for 20 updates of 80, which there follow one another.
    """

    kind: Literal["sentences"]
    sentences_per_update: PositiveInt
    pool_pairs: PositiveInt

    @model_validator(mode="after")
    def fill_pools(self) -> Self:
        """Else every pool would leave a smaller update, where only the epoch's last one may."""
        if self.pool_pairs % self.sentences_per_update:
            raise ValueError(
                f"pool_pairs must be a multiple of sentences_per_update {self.sentences_per_update}, "
                f"got {self.pool_pairs}"
            )
        return self


Batches = Annotated[TokenBatches | SentenceBatches, Field(discriminator="kind")]
