"""The reference of every key: complete, each key explained, and no explanation left over."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from ruamel.yaml import YAML

from docs import reference
from pipeline.params import Section

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page() -> str:
    """The page as it is built."""
    return reference.reference()


def rows(page: str) -> list[tuple[str, str, str]]:
    """Key, value and meaning of every row of its tables."""
    return re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", page, flags=re.M)


def keys(node: Any) -> Iterator[str]:
    """Every key of a file, those of all its sections."""
    for key, below in node.items() if isinstance(node, dict) else ():
        yield key
        yield from keys(below)


def test_every_key_is_explained(page):
    unexplained = sorted({key for key, _, meaning in rows(page) if not meaning})
    assert not unexplained, f"add a comment behind the field, or a line to docs/keys.yaml: {', '.join(unexplained)}"


def test_no_explanation_is_left_over(page):
    explained = {key.rpartition(".")[2] for key in reference.known_keys()}
    assert explained - {key for key, _, _ in rows(page)} == set()


@pytest.mark.parametrize("section", ["build", "attend", "decode", "score", "report"])
def test_every_key_of_a_section_is_there(page, section):
    node = YAML(typ="safe").load(ROOT / "params.yaml")[section]
    assert set(keys(node)) <= {key for key, _, _ in rows(page)}


def test_links_lead_to_headings(page):
    assert set(re.findall(r"\(#([\w-]+)\)", page)) <= set(re.findall(r"\{ #([\w-]+) \}$", page, flags=re.M))


class Toy(Section):
    """Section `toy`: what a toy has.

    Source: nobody.
    """

    name: str  # what it is called
    size: Annotated[int, Field(ge=1, lt=1000)] | None


def test_type_bounds_and_comment_of_a_key():
    assert reference.comments(Toy) == {"name": "what it is called"}
    assert reference.about(Toy) == "What a toy has."
    said = {"name": "what it is called", "toy.size": "a | b"}
    assert list(reference.table(reference.Entry("toy", Toy), said, {})) == [
        "| `name` | text | What it is called |",
        "| `size` | integer, at least 1, below 1,000; or null | A \\| b |",
    ]
