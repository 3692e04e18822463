"""The budget that CONTRIBUTING.md sets: lines of the library and of its tests, words of the documents."""

import re

from tests.test_documents import PAGES, ROOT

LINES, WORDS = (int(number.replace(",", "")) for number in re.findall(r"below (\d+,\d+)", PAGES["CONTRIBUTING.md"]))


def lines(*folders: str) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for one in folders for path in ROOT.glob(f"{one}/**/*.py"))


def test_the_project_stays_small():
    assert lines("tests") <= lines("pipeline", "stages") <= LINES
    assert sum(len(text.split()) for name, text in PAGES.items() if name.startswith(("README", "docs/"))) <= WORDS
