"""Section `decode`, which every search reads; without torch, so that other engines can read it too."""

import math
from typing import Annotated, TypeVar

from pydantic import Field, PositiveInt

from ..common.params import Section

MOST_BEAM = 1000
DIGITS = 6  # to which products are rounded, so that 1.1 * 10 is 11
UpTo10 = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
UpTo1000 = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Number = TypeVar("Number")  # a float, or a tensor of them


class Decoding(Section):
    """Section `decode`: beam search.

    A translation of a source has at most `max_length_factor` * source pieces + `max_length_offset` pieces, end of
    sentence included (not counted in the source).
    """

    beam_size: Annotated[int, Field(gt=0, le=MOST_BEAM)]  # prefixes under way for each sentence; 1 is greedy search
    length_penalty: UpTo10  # scores are log P / ((5 + pieces) / 6)^length_penalty; 0 compares by log P alone
    patience: UpTo1000  # ends a sentence at patience * beam_size finished translations; 0: the exact search
    no_repeat_ngram_size: Annotated[int, Field(ge=0, le=1000)]  # pieces of which none are written twice; 0: any may be
    max_length_factor: UpTo1000  # pieces that a translation may have for each piece of its source
    max_length_offset: Annotated[int, Field(ge=0, le=1_000_000)]  # pieces that it may have besides
    tokens_per_batch: PositiveInt  # sentences * longest source of a batch, EOS included; bounds memory

    @property
    def max_finished(self) -> float:
        """Number of finished hypotheses that ends the search of a sentence; infinity if the search is exact.

        Source: Kasai et al. 2022, `A Call for Clarity in Beam Search`; 1 is what fairseq does.
        """
        return max(1, math.ceil(round(self.patience * self.beam_size, DIGITS))) if self.patience else math.inf

    def max_length(self, source_length: int) -> int:
        """Pieces that the translation of a source may have, EOS counted; a fraction is dropped."""
        return math.floor(round(self.max_length_factor * source_length, DIGITS)) + self.max_length_offset

    def penalty(self, length: int) -> float:
        """The divisor of log P of a translation of so many pieces, EOS counted."""
        return length_penalty(float(length), self.length_penalty)


def length_penalty(lengths: Number, alpha: float) -> Number:
    """The divisor of a hypothesis's log P: ((5 + |Y|) / 6) ^ alpha, where |Y| counts EOS.

    Source: Wu et al. 2016, eq. 14, without their coverage penalty. With alpha 0 probability alone counts.
    """
    return ((5 + lengths) / 6) ** alpha  # type: ignore[operator]
