"""JSON schemas of params.yaml and corpora/*.yaml, from the classes that check them, for editors: `make schema`."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pipeline import catalogue
from pipeline.params import Section

ROOT = Path(__file__).parents[1]


def schemas() -> dict[str, str]:
    """The text of each schema, by its path from the project's folder."""
    return {"params.schema.json": text(catalogue.whole()), "corpora/schema.json": text(catalogue.CorpusFile)}


def text(kind: type[Section]) -> str:
    """The schema of a file that `kind` checks."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **tidy(kind.model_json_schema())}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def tidy(node: Any) -> Any:
    """A schema without the titles and defaults that pydantic adds: every value is written in the files."""
    if isinstance(node, list):
        return [tidy(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {key: tidy(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    return {key: value for key, value in kept.items() if not (key == "default" and value is None)}


def checksum() -> str:
    """That of params.yaml, as `sha256sum` writes it: tests that compare with its values skip where it is another."""
    return f"{hashlib.sha256((ROOT / 'params.yaml').read_bytes()).hexdigest()}  params.yaml\n"


if __name__ == "__main__":
    for name, written in (schemas() | {"tests/params.sha256": checksum()}).items():
        (ROOT / name).write_text(written, encoding="utf-8")
