"""Few different shapes of micro-batches, so that a GPU can capture its work for each of them once."""

from typing import NamedTuple

STEPS = 8  # numbers that are kept between a power of two and the next one


class Shape(NamedTuple):
    """The sizes of a padded micro-batch."""

    sentences: int
    source: int  # positions of each, EOS included
    target: int


def round_up(number: int) -> int:
    """The next number that is kept: every one up to 16, then every second up to 32, every fourth up to 64 ..."""
    step = 1 << max(0, (number - 1).bit_length() - STEPS.bit_length())
    return -(-number // step) * step


def bucket(shape: Shape) -> Shape:
    """The smallest shape with kept numbers that holds this one."""
    return Shape(*map(round_up, shape))
