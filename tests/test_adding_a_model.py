"""docs/adding-a-model.md typed word for word: the new model passes the checks and tests that the page names."""

import re
import sys

import pytest

from tests.test_documents import PAGES, ROOT
from tests.toys.project import Project, create

MODEL = "embedding_attention"
# A path, the rest of its paragraph, and the code that follows.
FILES = re.findall(rf"`(\S*{MODEL}\.\w+)`(?:.(?!\n\n))*.\n\n```\w+\n(.*?)```", PAGES["docs/adding-a-model.md"], re.S)
CODE = [name for name, _ in FILES if name.endswith(".py")]
TESTS = ("tests/test_numerics.py", "tests/test_graph.py", "tests/test_devices.py", "tests/pipeline/models")
COMMANDS = {  # in the order of the page; `make check` of what is new
    "nmt check": ("pipeline.commands.nmt", "check"),
    "ruff check": ("ruff", "check", *CODE),
    "ruff format": ("ruff", "format", "--check", *CODE),
    "mypy": ("mypy", "--cache-dir", str(ROOT / ".mypy_cache"), f"pipeline/models/{MODEL}.py"),
    "numbers": ("tests.test_numerics", MODEL),
    "tests": ("pytest", "-q", *TESTS, "-k", f"{MODEL} or test_deps or test_imports_point_down"),
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory) -> Project:
    """A copy of the project with the files of the page."""
    project = create(tmp_path_factory.mktemp("typed") / "project")
    assert len(FILES) == 3
    for name, text in FILES:
        (project.root / name).write_text(text, encoding="utf-8")
    return project


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_of_the_page_ends_well(typed, name):
    done = typed.run(sys.executable, "-m", *COMMANDS[name])
    assert done.returncode == 0, done.stdout + done.stderr
