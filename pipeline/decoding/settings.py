"""Section `decode`, which every search reads; without torch, so that other engines can read it too."""

import math
from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt

from pipeline.params import Section

MOST_BEAM, MOST_PAIRS = 1000, 1000  # for one sentence
WITHOUT_MEMORY = {"memory_pairs": 0, "memory_weight": 0.0, "memory_temperature": 1.0}
DIGITS = 6  # to which products are rounded, so that 1.1 * 10 is 11
UpTo10 = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
UpTo1000 = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Decoding(Section):
    """Section `decode`: beam search.

    A translation of a source has at most `max_length_factor` * source pieces + `max_length_offset` pieces, end of
    sentence included (not counted in the source).
    """

    beam_size: Annotated[int, Field(gt=0, le=MOST_BEAM)]  # prefixes under way for each sentence; 1 is greedy search
    length_penalty: UpTo10  # scores are log P / ((5 + pieces) / 6)^length_penalty; 0 compares by log P alone
    patience: UpTo1000  # ends a sentence at patience * beam_size finished translations; 0: the exact search
    mbr_temperature: ClassVar[None] = None
    memory_pairs: ClassVar[int] = 0
    memory_weight: ClassVar[float] = 0.0
    memory_temperature: ClassVar[float] = 1.0
    max_length_factor: UpTo1000  # pieces that a translation may have for each piece of its source
    max_length_offset: Annotated[int, Field(ge=0, le=1_000_000)]  # pieces that it may have besides
    tokens_per_batch: PositiveInt  # sentences * longest source of a batch, EOS included; bounds memory

    @property
    def max_finished(self) -> float:
        """How many finished hypotheses end the search of a sentence; infinity if the search is exact.

        Source: Kasai et al. 2022, `A Call for Clarity in Beam Search`; 1 is what fairseq does.
        """
        return math.inf if not self.patience else max(1, math.ceil(round(self.patience * self.beam_size, DIGITS)))

    def max_length(self, source_length: int) -> int:
        """Pieces that the translation of a source may have, EOS counted; a fraction is dropped."""
        return math.floor(round(self.max_length_factor * source_length, DIGITS)) + self.max_length_offset

    def penalty(self, length: int) -> float:
        """What log P of a translation of so many pieces, EOS counted, is divided by (Wu et al. 2016, eq. 14)."""
        return float(((5 + length) / 6) ** self.length_penalty)
