"""The reference: every key of params.yaml and corpora/*.yaml, from the classes that check them.

A key's meaning is the comment behind its field or, if the class has none, its line in docs/keys.yaml. docs/pages.py
puts the page on the site.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import create_model
from ruamel.yaml import YAML

from pipeline import catalogue
from pipeline.decoding.translate import Decoding
from pipeline.encoding.budget import Training
from pipeline.models import interface
from pipeline.params import Section, alternatives, fields
from pipeline.preparation.cleaning import Cleaning
from pipeline.preparation.splits import Splitting
from pipeline.training.learning import Learning

HERE = Path(__file__).parent
TITLE = """# Reference of every key

Made by `make docs` from the classes that check `params.yaml` and `corpora/<corpus>.yaml`; `nmt check` runs them.
Every value is written in these files: the code has no defaults.
"""
TYPES = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "`true` or `false`",
    "null": "null",
}
BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minItems": "at least {} of them",
}


@dataclass(frozen=True)
class Entry:
    """A section: its path in the file, its class, and the anchor of its heading."""

    path: str
    section: type[Section]
    tag: str = ""  # the value of `kind` that chooses this class
    file: str = "params.yaml"

    @property
    def name(self) -> str:
        """Of the section, without the names that a reader chooses."""
        named = [part for part in self.path.split(".") if not part.startswith("<")]
        return {"corpora": "corpus"}.get(named[-1], named[-1]) if named else ""

    @property
    def anchor(self) -> str:
        """Of its heading."""
        folder = "" if self.file == "params.yaml" else "corpora/"
        return re.sub(r"\W+", "-", f"{folder}{self.path} {self.tag}".lower()).strip("-")

    @property
    def heading(self) -> str:
        """The heading above its table."""
        tag = f", `kind: {self.tag}`" if self.tag else ""
        return f"`{self.path}`{tag}" if self.path else "All of the file"


# Classes whose keys may be left out, and those of which they are made, where the comments are.
ORIGINALS: dict[Any, type[Section]] = {
    catalogue.CorpusCleaning: Cleaning,
    catalogue.CorpusSplitting: Splitting,
    catalogue.CorpusDecoding: Decoding,
    catalogue.CorpusTraining: Training,
}


def roots() -> dict[str, type[Section]]:
    """The class of each file."""
    kinds: dict[str, type[Section]] = {"<model>": Learning}
    kinds |= {name: interface.find(name).Arch for name in interface.names()}
    sizes: dict[str, Any] = {name: (dict[str, kind], ...) for name, kind in kinds.items()}  # type: ignore[valid-type]
    models = create_model("Models", __base__=Section, **sizes)
    params = create_model("File", __base__=catalogue.Params, models=(models, ...))
    return {"params.yaml": params, "corpora/<corpus>.yaml": catalogue.CorpusFile}


def entries(path: str, kind: Any, tag: str = "") -> Iterator[Entry]:
    """A section of class `kind` at `path` and all sections below it, in the order of the file."""
    if get_origin(kind) is dict:
        plural = path.rpartition(".")[2]
        name = {
            "corpora": "<corpus>",
            "training": "<corpus>",
            "teachers": "<corpus>",
            "vocabularies": "<vocabulary>",
            "parts": "<part>",
        }.get(plural, "<size>")
        yield from entries(f"{path}.{name}", get_args(kind)[1])
        return
    kind = ORIGINALS.get(kind, kind)
    members = [one for one in alternatives(kind) if get_origin(one) is dict or fields(one)]
    for member in members:
        if get_origin(member) is dict:
            yield from entries(path, member)
            continue
        about = Entry(path, member, ", ".join(tag_values(member)) if len(members) > 1 else tag)
        yield about
        for name, field in fields(member).items():
            yield from entries(f"{path}.{name}" if path else name, field.annotation)


def tag_values(section: type[Section]) -> list[str]:
    """What `kind` says where this class is meant."""
    field = fields(section).get("kind")
    return [str(value) for value in get_args(field.annotation)] if field else []


def comments(section: type[Section]) -> dict[str, str]:
    """The comment behind each field of a class, of those that it inherits too."""
    found: dict[str, str] = {}
    for one in reversed(section.__mro__):
        if issubclass(one, Section) and one is not Section:
            try:
                source = inspect.getsource(one)
            except (OSError, TypeError):  # made by `create_model`
                continue
            found |= dict(re.findall(r"^    (\w+): .*?  # (?!type:)(.+)$", source, flags=re.M))
    return found


def about(section: type[Section]) -> str:
    """The docstrings of a class and of those it inherits keys from, without their `Source:` paragraphs."""
    kinds = [one for one in section.__mro__ if issubclass(one, Section) and inspect.get_annotations(one)]
    texts = [inspect.cleandoc(one.__dict__.get("__doc__") or "") for one in kinds if one is not Section]
    paragraphs = [paragraph for text in texts for paragraph in re.split(r"\n\n|\n(?=Source:)", text) if paragraph]
    kept = [
        re.sub(r"^Section `[^`]*`[:.] ?", "", one) for one in paragraphs if not one.startswith(("Source:", "All of"))
    ]
    return "\n\n".join(one[:1].upper() + one[1:] for one in kept if one)


def shape(schema: dict[str, Any], defs: dict[str, Any]) -> str:
    """The type, bounds and choices that a JSON schema states, in words."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return "; or ".join(dict.fromkeys(shape(choice, defs) for choice in choices))
    if "$ref" in schema:
        return "section"
    if schema.get("type") == "array":
        text = f"list of {shape(schema['items'], defs)}"
    else:
        text = TYPES.get(schema.get("type", ""), "section")
    bounds = [words.format(f"{schema[key]:,}") for key, words in BOUNDS.items() if key in schema]
    return ", ".join([text, *bounds])


def table(entry: Entry, said: dict[str, str], below: dict[str, Entry]) -> Iterator[str]:
    """The rows of a section's table: key, what it may be, what it means."""
    schema = entry.section.model_json_schema()
    for name, what in schema.get("properties", {}).items():
        path = f"{entry.path}.{name}" if entry.path else name
        if found := below.get(path):
            yield f"| `{name}` | section | [`{found.path}`](#{found.anchor}) |"
        else:
            meaning = said.get(f"{entry.name}.{name}") or said.get(name, "")
            yield f"| `{name}` | {shape(what, schema.get('$defs', {}))} | {escaped(meaning)} |"


def escaped(text: str) -> str:
    """A comment as a cell of a table."""
    return (text[:1].upper() + text[1:]).replace("|", "\\|").replace("<", "&lt;")


def known_keys() -> dict[str, str]:
    """What docs/keys.yaml says of a key, by its name or its path."""
    found: dict[str, str] = YAML(typ="safe").load(HERE / "keys.yaml")
    return found


def reference() -> str:
    """The page."""
    page = [TITLE]
    for file, root in roots().items():
        page.append(f"\n## {file}\n".replace("<", "&lt;"))
        found = [replace(entry, file=file) for entry in entries("", root) if entry.path or file != "params.yaml"]
        first: dict[type[Section], Entry] = {}  # a class is shown once, at its first place
        below: dict[str, Entry] = {}
        for entry in found:
            shown = first.setdefault(entry.section, entry)
            below.setdefault(entry.path, shown)
            below.setdefault(re.sub(r"\.<\w+>$", "", entry.path), shown)
        said = known_keys()
        for entry in found:
            said |= {f"{entry.name}.{key}": comment for key, comment in comments(entry.section).items()}
        for entry in first.values():
            rows = list(table(entry, said, below))
            if not rows or all(" section | [" in row for row in rows):
                continue
            page.append(f"\n### {entry.heading} {{ #{entry.anchor} }}\n")
            if text := about(entry.section):
                page.append(text + "\n")
            page += ["| key | value | meaning |", "| :--- | :--- | :--- |", *rows]
    return "\n".join(page) + "\n"
