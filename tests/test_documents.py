"""Names in README and the pages exist: links, headings, files, options of `nmt`, targets of make, lines of code."""

import re
import sys
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest
from markdown_it import MarkdownIt

from pipeline.commands.nmt import app

ROOT = Path(__file__).parents[1]
NAMES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LOG.md", "benchmarks/README.md"]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
PAGES |= {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/**/*.md"))}
TARGETS = set(re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1].split())
pytestmark = pytest.mark.parametrize("page", PAGES)


@cache
def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    tokens = MarkdownIt().parse(PAGES[page])
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(page: str) -> list[str]:
    """Lines of the page's fences and inline code, remarks left out and continued lines joined."""
    tokens = MarkdownIt().enable("table").parse(PAGES[page])
    code = [token.content for token in tokens if token.type == "fence" and token.info in ("", "text")]
    inline = [child for token in tokens for child in token.children or () if child.type == "code_inline"]
    lines = "\n".join(code).replace("\\\n", " ").splitlines()
    return [re.split(r" #|\|", line)[0].strip() for line in [*lines, *(child.content for child in inline)]]


def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        name = str(((ROOT / page).parent / path).resolve().relative_to(ROOT)) if path else page
        assert (ROOT / name).exists(), link
        assert not anchor or anchor in anchors(name), link


def test_files_of_code_exist(page):
    """The new model's aside, and what a log and a changelog tell of former times."""
    names = re.findall(r"`((?:pipeline|stages|tests|benchmarks|recipes)/[\w/.]+)`", PAGES[page])
    missing = {name for name in names if not (ROOT / name).exists() and "embedding_attention" not in name}
    assert not missing or page in ("LOG.md", "CHANGELOG.md")


@cache
def help_of(command: str) -> str:
    """The output of `nmt <command> --help`."""
    output = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output):
        patch.setattr(sys, "argv", ["nmt", command, "--help"])
        with pytest.raises(SystemExit) as end:
            app()
    assert not end.value.code, f"nmt {command}"
    return output.getvalue()


def test_options_of_nmt_exist(page):
    for line in commands(page):
        if words := re.match(r"(?:\w+=\S* )*nmt ([a-z-]+)(.*)", line):
            options = set(re.findall(r"(?<=\s)--[a-z][\w-]*", words[2]))
            assert options <= set(re.findall(r"--[a-z][\w-]*", help_of(words[1]))), line


def test_targets_of_make_exist(page):
    for line in commands(page):
        if words := re.match(r"make ([a-z-]+)", line):
            assert words[1] in TARGETS, line


def test_excerpts_stand_in_their_files(page):
    """A fence of Python after the words "from `<file>`" is a part of that file, whatever its indentation."""
    for before, after in pairwise(PAGES[page].split("```python\n")):
        if names := re.findall(r"[Ff]rom\s`((?:pipeline|tests)/[\w/]+\.py)`", before):
            code = after.partition("```")[0]
            lines, count = (ROOT / names[-1]).read_text(encoding="utf-8").splitlines(keepends=True), code.count("\n")
            excerpts = (dedent("".join(lines[at : at + count])) for at in range(len(lines)))
            assert code in excerpts, f"{names[-1]}:\n{code}"
