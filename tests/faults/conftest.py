"""The fault campaign: what was tried, what held, and the table at the end.

Every test here is marked `faults`. The default run tries a few faults of each kind; `make faults` tries them all.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TRIED: Counter[str] = Counter()
HELD: Counter[str] = Counter()


class Campaign:
    """Counts the faults of one kind; a fault holds where the block of `trying` raises nothing."""

    def __init__(self, *, full: bool) -> None:
        self.full = full

    def trials(self, full: int, short: int) -> int:
        """How many faults to try: `full` in `make faults`, `short` in the default run."""
        return full if self.full else short

    @contextmanager
    def trying(self, kind: str) -> Iterator[None]:
        """Try one fault of `kind`, the name of a row of the table; what it raises fails the test."""
        TRIED[kind] += 1
        yield
        HELD[kind] += 1


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Campaign:
    """The counts of the whole run."""
    return Campaign(full=request.config.getoption("--all-faults"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.faults)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    if not TRIED:
        return
    terminalreporter.section("faults")
    width = max(map(len, TRIED))
    for kind in TRIED:
        terminalreporter.write_line(f"{kind:<{width}}  tried {TRIED[kind]:>6}  held {HELD[kind]:>6}")
    terminalreporter.write_line(f"{'all':<{width}}  tried {TRIED.total():>6}  held {HELD.total():>6}")
