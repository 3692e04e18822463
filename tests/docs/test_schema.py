"""The schemas are those of the classes, and what the project's own files hold is all in them."""

import json

import pytest

from docs import schema
from pipeline.params import read_yaml

FILES = {"params.schema.json": ["params.yaml"], "corpora/schema.json": ["corpora/*.yaml"]}


@pytest.mark.parametrize("name", schema.schemas())
def test_the_file_is_what_make_schema_writes(name):
    assert (schema.ROOT / name).read_text(encoding="utf-8") == schema.schemas()[name], "run `make schema`"


@pytest.mark.parametrize("name", schema.schemas())
def test_every_key_of_our_files_is_in_the_schema(name):
    whole = json.loads((schema.ROOT / name).read_text(encoding="utf-8"))
    for path in [path for pattern in FILES[name] for path in schema.ROOT.glob(pattern)]:
        assert list(unknown(read_yaml(path), whole, whole)) == [], path


def unknown(value, node, whole):
    """The keys of a value that no branch of its schema has."""
    branches = list(branches_of(node, whole))
    if isinstance(value, dict):
        for key, inner in value.items():
            below = [branch["properties"][key] for branch in branches if key in branch.get("properties", {})]
            below += [b["additionalProperties"] for b in branches if isinstance(b.get("additionalProperties"), dict)]
            below += [one for b in branches for one in b.get("patternProperties", {}).values()]
            if not below:
                yield key
            else:
                yield from unknown(inner, {"anyOf": below}, whole)


def branches_of(node, whole):
    """The schemas that a schema stands for: those of a union, and what a reference points to."""
    if "$ref" in node:
        yield from branches_of(whole["$defs"][node["$ref"].rpartition("/")[2]], whole)
    for one in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from branches_of(one, whole)
    yield node


@pytest.mark.parametrize("path", ["params.yaml", "corpora/phrasebook_fr_en.yaml"])
def test_editors_find_the_schema(path):
    first = (schema.ROOT / path).read_text(encoding="utf-8").splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=")
    assert ((schema.ROOT / path).parent / name).is_file()
