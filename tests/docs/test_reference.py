"""The tables of every key: each key is explained."""

import re

from docs import pages, reference

ROWS = re.findall(r"^\| `([^`]*)` \| (.*?) \| (.*?) \|$", reference.reference(), re.M)


def test_every_key_is_explained():
    unexplained = {key for key, _, meaning in ROWS if not re.sub(r"\(`kind.*\)", "", meaning).strip()}
    assert unexplained <= {"optimizer.kind", "attention.kind"}, "add a comment to the file, or a line to docs/keys.yaml"


def test_every_page_is_in_the_navigation(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "SITE", tmp_path / "docs")
    pages.gather()
    navigation = re.findall(r": (\S+\.md)$", (pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(navigation) == sorted(path.name for path in (tmp_path / "docs").glob("*.md"))
