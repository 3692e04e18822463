"""The length of a training and the size of its updates: the sections `training` and `batches` of a model."""

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from ..common.params import Section


class Training(Section):
    """How long a corpus trains, and in what portions.

    Tokens are target tokens, end of sentence included; intervals are in updates, `patience` in validations.

    `tokens_per_batch` bounds a micro-batch's padded positions on its longer side, and thereby memory. `patience` 0
    never stops early. `threads` is the number of CPU threads of a process, 0 for one per core; results of different
    numbers differ by rounding. With `exact`, 1, 2, 4, 8 ... processes of as many threads each (not 0) give the same
    weights, to the byte; without, any number of processes may train, and the number shows in the rounding.

    With `cuda_graphs`, a GPU trains Transformers in batches of few shapes, filled up beyond `tokens_per_batch` by up to
    27 %, and replays its work for each shape. Filled up, batches draw other dropout; replays themselves should
    change no bit.
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
    exact: bool
    cuda_graphs: bool

    @model_validator(mode="after")
    def validate_at_checkpoints(self) -> Self:
        """Require a checkpoint at every validation, so that the best update can be kept."""
        if self.validation_interval % self.checkpoint_interval:
            raise ValueError(
                f"validation_interval must be a multiple of checkpoint_interval {self.checkpoint_interval}, "
                f"got {self.validation_interval}"
            )
        return self


class TokenBatches(Section):
    """Updates of about `tokens_per_update` target tokens, from pools of `pool_pairs`; see section `training`."""

    kind: Literal["tokens"]


class SentenceBatches(Section):
    """Updates of `sentences_per_update` pairs, from pools of `pool_pairs`; both replace the keys of section `training`.

    `tokens_per_batch` of `training` still bounds the micro-batches.
    Source: Bahdanau et al. 2015, appendix B.2: 1,600 pairs for 20 updates of 80, which there follow one another.
    """

    kind: Literal["sentences"]
    sentences_per_update: PositiveInt
    pool_pairs: PositiveInt

    @model_validator(mode="after")
    def fill_pools(self) -> Self:
        """Require whole updates in a pool, so that only the epoch's last one is smaller."""
        if self.pool_pairs % self.sentences_per_update:
            raise ValueError(
                f"pool_pairs must be a multiple of sentences_per_update {self.sentences_per_update}, "
                f"got {self.pool_pairs}"
            )
        return self


Batches = Annotated[TokenBatches | SentenceBatches, Field(discriminator="kind")]
