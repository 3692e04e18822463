"""The site's pages: links between them hold, and every page of docs/ is in the navigation."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from docs import pages

ROOT = Path(__file__).parents[2]


def listed(node: object) -> list[str]:
    """Every page of a navigation."""
    if isinstance(node, str):
        return [node]
    return [page for one in (node.values() if isinstance(node, dict) else node) for page in listed(one)]


def test_links_become_names_of_pages():
    text = "[a](docs/corpora.md#mirrors) [b](LICENSE) [c](https://x.org/a.md) [d](#here) ![e](docs/leaderboard.png)"
    said = "[a](corpora.md#mirrors) [b](LICENSE.txt) [c](https://x.org/a.md) [d](#here) ![e](leaderboard.png)"
    assert pages.with_links(text, "README.md") == said
    assert pages.with_links("[a](../README.md#results)", "docs/corpora.md") == "[a](index.md#results)"
    text = "[a](../../README.md) [b](../systems.md#add-a-model) [c](rnnsearch.md) ![d](rnnsearch.png)"
    said = "[a](../index.md) [b](../systems.md#add-a-model) [c](rnnsearch.md) ![d](rnnsearch.png)"
    assert pages.with_links(text, "docs/models/README.md") == said


@pytest.mark.parametrize("link", ["nowhere.md", "../pipeline/params.py", "no.png"])
def test_a_link_to_what_the_site_lacks_is_refused(link):
    fault = f"docs/corpora.md: link to {link}, which the site lacks; expected a page or picture of docs/"
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        pages.with_links(f"[x]({link})", "docs/corpora.md")


def test_all_pages_are_gathered_and_in_the_navigation(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "SITE", tmp_path / "docs")
    pages.gather()
    gathered = {path.relative_to(tmp_path / "docs").as_posix() for path in (tmp_path / "docs").rglob("*.md")}
    navigation = listed(YAML(typ="safe").load(ROOT / "mkdocs.yml")["nav"])
    assert sorted(navigation) == sorted(gathered)
    assert {
        "index.md",
        "reference.md",
        *(path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")),
    } <= gathered
