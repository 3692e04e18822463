"""What an engine says of a line. Between worker and server it travels as a list in JSON."""

from typing import NamedTuple


class Answer(NamedTuple):
    """A translation of one line."""

    text: str
    score: float  # log P over the length penalty, in nats; the best has the highest, unless `mbr_temperature` is set
    confidence: float  # mean log P a piece, EOS counted, in nats
