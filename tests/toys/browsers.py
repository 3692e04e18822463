"""The browser that tests open pages with."""

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """The path of a Chromium; the test skips if there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser here: {' or '.join(NAMES)} (Debian: apt-get install chromium)")
    return path
