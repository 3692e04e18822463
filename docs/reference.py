"""The tables of every key of params.yaml, corpora/*.yaml and configs/*.yaml, from the classes that check them.

A key's meaning is the comment behind it in those files or, where they have none, its line in docs/keys.yaml.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.commands import catalogue
from pipeline.models import interface
from pipeline.training.learning import Learning

ROOT = Path(__file__).parents[1]
BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}
Meanings = dict[tuple[str, str], str]  # by the key above and the key; by "" and the key for any place


def reference() -> str:
    """The tables, with a heading each."""
    parts = ["## `params.yaml`"]
    for name, section in catalogue.Params.model_json_schema()["properties"].items():
        schema = catalogue.Params.model_json_schema()
        parts.append(f"### `{name}`\n\n{table(section, schema['$defs'], name)}")
    corpus = catalogue.Corpus.model_json_schema()
    for name in catalogue.OVERRIDABLE:
        del corpus["properties"][name]
    parts.append(f"## `corpora/<corpus>.yaml`\n\n{table(corpus, corpus['$defs'], '')}")
    learning = Learning.model_json_schema()
    parts.append("## `configs/<model>.yaml`")
    parts.append(f"### How every model learns\n\n{table(learning, learning['$defs'], '')}")
    for name in interface.names():
        arch = interface.find(name).Arch.model_json_schema()
        parts.append(f"### `{name}`\n\n{table(arch, arch.get('$defs', {}), '')}")
    return "\n\n".join(parts) + "\n"


def table(node: dict[str, Any], defs: dict[str, Any], parent: str) -> str:
    """A table of all keys below a node."""
    lines = [f"| `{key}` | {allowed} | {meaning} |" for key, allowed, meaning in rows(node, defs, parent)]
    return "\n".join(["| key | value | meaning |", "| :--- | :--- | :--- |", *lines])


def rows(node: dict[str, Any], defs: dict[str, Any], parent: str, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Key, what it may be, and its meaning, of all keys below a node; those of several kinds in one list."""
    choices = [form for form in forms(node, defs) if form.get("type") != "array"]
    kinds = [form.get("properties", {}).get("kind", {}).get("const") for form in choices]
    shown = set()
    for form in choices:
        for below in form.get("patternProperties", {}).values():  # names that a reader chooses
            yield from rows(below, defs, parent, f"{path}<name>.")
        for key, what in form.get("properties", {}).items():
            if (key, str(what)) in shown or "const" in what:
                continue
            shown.add((key, str(what)))
            having = [
                kind
                for kind, choice in zip(kinds, choices, strict=True)
                if choice.get("properties", {}).get(key) == what
            ]
            remark = "" if having == kinds or None in having else f" (`kind: {', '.join(having)}`)"
            yield (
                f"{path}{key}",
                values(what, defs),
                (MEANINGS.get((parent, key)) or MEANINGS.get(("", key), "")) + remark,
            )
            yield from rows(what, defs, key, f"{path}{key}.")


def forms(node: dict[str, Any], defs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas that one stands for: those of a union, and what a reference points to."""
    if "$ref" in node:
        yield from forms(defs[node["$ref"].rpartition("/")[2]], defs)
    elif choices := node.get("anyOf") or node.get("oneOf"):
        for choice in choices:
            yield from forms(choice, defs)
    else:
        yield node


def values(node: dict[str, Any], defs: dict[str, Any]) -> str:
    """The types, choices and bounds of a key, in words."""
    parts = []
    for form in forms(node, defs):
        if "enum" in form:
            parts += [f"`{value}`" for value in form["enum"]]
        elif "properties" in form:
            const = form["properties"].get("kind", {}).get("const")
            parts.append(f"`kind: {const}`" if const else "section")
        elif form.get("type") == "array":
            parts.append(f"list of {values(form['items'], defs)}")
        else:
            bounds = [words.format(f"{form[key]:,}") for key, words in BOUNDS.items() if key in form]
            parts.append(", ".join([form.get("type", "section"), *bounds]))
    return ", ".join(dict.fromkeys(parts))


def meanings() -> Meanings:
    """The comments behind keys of the project's files, and the lines of docs/keys.yaml."""
    comments: Meanings = {}

    def walk(node: Any, parent: str) -> None:
        for key, below in node.items() if isinstance(node, dict) else ():
            comment = (node.ca.items.get(key) or [None] * 3)[2]
            text = comment.value.partition("\n")[0].lstrip("# ").replace("|", "\\|") if comment else ""
            if text:
                comments.setdefault((parent, key), text)
                if path.parent.name == "configs" and key != "kind":
                    comments.setdefault(("", key), text)
            walk(below, parent if parent in ("vocabularies", "parts") else key)

    for path in [ROOT / "params.yaml", *sorted(ROOT.glob("co[nr]*/*.yaml"))]:
        walk(YAML().load(path), "")
    for name, text in YAML(typ="safe").load(Path(__file__).with_name("keys.yaml")).items():
        parent, _, key = name.rpartition(".")
        comments[parent, key] = text
    return comments


MEANINGS = meanings()
