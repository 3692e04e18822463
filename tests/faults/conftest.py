"""The fault campaign: what was tried, what held, and the table at the end.

Every test here is marked `faults`. The default run tries a few faults of each kind; `make faults` tries them all,
and says as it goes what held and what did not.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.toys import tiny_project
from tests.toys.tiny_project import Built

TRIED: Counter[str] = Counter()
HELD: Counter[str] = Counter()
LIVE_SECONDS = 15.0  # between two lines of progress
SHOWN = 300  # characters of what went wrong; all of it stands in the test's report


class Fault:
    """One fault; `held` once its block has ended well."""

    held = False


class Campaign:
    """Counts the faults of one kind; a fault holds where the block of `trying` raises nothing.

    `say` prints a line at once: one for each fault that does not hold, and one now and then for those that do.
    """

    def __init__(self, say: Callable[[str], None], *, full: bool) -> None:
        self.say, self.full = say, full
        self.lost: list[str] = []
        self.said = time.monotonic()
        self.lock = threading.Lock()  # a campaign may try two faults at a time

    def trials(self, full: int, short: int) -> int:
        """How many faults to try: `full` in `make faults`, `short` in the default run."""
        return full if self.full else short

    @contextmanager
    def trying(self, kind: str, which: object = "") -> Iterator[Fault]:
        """Try one fault of `kind`, the name of a row of the table; `which` tells it from others of its kind.

        What it raises is said at once and fails the test at its end: the faults after it are tried too.
        """
        fault = Fault()
        with self.lock:
            TRIED[kind] += 1
        try:
            yield fault
        except (Exception, pytest.fail.Exception) as error:
            with self.lock:
                what = ": ".join(filter(None, (kind, str(which), "did not hold", type(error).__name__)))
                self.lost.append(f"{what}: {error}")
                self.say(f"{what}: {str(error).strip().partition(chr(10))[0][:SHOWN]}")
            return
        fault.held = True
        with self.lock:
            HELD[kind] += 1
            if time.monotonic() > self.said + LIVE_SECONDS:
                self.said = time.monotonic()
                self.say(f"{kind}: {HELD[kind]} held")


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Campaign:
    """The counts of the whole run."""
    config = request.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(line)

    return Campaign(say, full=config.getoption("--all-faults"))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Built:
    """The tiny project after all its stages, or after the quick ones, of half a second each. To be copied."""
    stages = tiny_project.stages()
    names = stages if request.config.getoption("--all-faults") else ["check", "download", "clean", "split"]
    return tiny_project.build(tmp_path_factory.mktemp("built"), [stages[name] for name in names])


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Fail a test some of whose faults did not hold."""
    result = yield
    campaign = pyfuncitem.funcargs.get("campaign")
    if campaign is not None and campaign.lost:
        pytest.fail("\n\n".join(campaign.lost), pytrace=False)
    return result


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
