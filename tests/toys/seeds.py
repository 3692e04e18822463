"""Seeds that differ from run to run."""

import os
import random


def fresh(number: int) -> list[int]:
    """So many seeds for `parametrize`; the workers of one run, which all collect the tests, draw the same."""
    draw = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID"))
    return draw.sample(range(10**6), number)
